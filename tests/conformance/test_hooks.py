"""Hooks of runs, models, seeds and snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.hooks import fixtures
from dbt.tests.adapter.hooks.test_model_hooks import (
    BaseDuplicateHooksInConfigs,
    BaseHookRefs,
    BaseHooksRefsOnSeeds,
    BasePrePostModelHooks,
    BasePrePostModelHooksInConfig,
    BasePrePostModelHooksInConfigKwargs,
    BasePrePostModelHooksInConfigWithCount,
    BasePrePostModelHooksOnSeeds,
    BasePrePostModelHooksOnSeedsPlusPrefixed,
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace,
    BasePrePostModelHooksOnSnapshots,
    BasePrePostSnapshotHooksInConfigKwargs,
)
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks, BasePrePostRunHooks


class Context:
    """What hooks see of this profile's target, which has no host, user or password."""

    @pytest.fixture(scope="class")
    def test_data_dir(self) -> Path:
        # Where the package has its statements for the tables that hooks write to.
        return Path(fixtures.__file__).parent / "data"

    def check_hooks(self, state: str, project: Any, host: None, count: int = 1) -> None:
        seen: Any = self.get_ctx_vars(state, **self.asked(project, count))
        for context in seen if isinstance(seen, list) else [seen]:
            target = {k: v for k, v in context.items() if k.startswith("target_")}
            assert target == {
                "target_dbname": "",
                "target_host": "",
                "target_name": "default",
                "target_schema": project.test_schema,
                "target_type": "sparkivm",
                "target_user": "",
                "target_pass": "",
                "target_threads": 2,
            }
            assert context["run_started_at"]
            assert context["invocation_id"]
            assert context["thread_id"].startswith(("Thread-", "MainThread"))

    def asked(self, project: Any, count: int) -> dict[str, Any]:
        return {"project": project, "count": count}


class TestPrePostModelHooks(Context, BasePrePostModelHooks):
    """The target of this profile, not that of Postgres."""


class TestHookRefs(Context, BaseHookRefs):
    """The target of this profile, not that of Postgres."""


class TestPrePostModelHooksInConfig(Context, BasePrePostModelHooksInConfig):
    """The target of this profile, not that of Postgres."""


class TestPrePostModelHooksInConfigWithCount(Context, BasePrePostModelHooksInConfigWithCount):
    """The target of this profile, not that of Postgres."""


class TestPrePostModelHooksInConfigKwargs(Context, BasePrePostModelHooksInConfigKwargs):
    """The target of this profile, not that of Postgres."""


class TestPrePostModelHooksOnSeeds(BasePrePostModelHooksOnSeeds):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixed(BasePrePostModelHooksOnSeedsPlusPrefixed):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace(
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace
):
    pass


@pytest.mark.quick
class TestHooksRefsOnSeeds(BaseHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksOnSnapshots(BasePrePostModelHooksOnSnapshots):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(BasePrePostSnapshotHooksInConfigKwargs):
    pass


class TestDuplicateHooksInConfigs(BaseDuplicateHooksInConfigs):
    pass


class TestPrePostRunHooks(Context, BasePrePostRunHooks):
    """The target of this profile, not that of Postgres; Spark's types, and no database."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        def tables(state: str) -> list[str]:
            return [
                f"{{{{ custom_run_hook('{state}', target, run_started_at, invocation_id) }}}}",
                f"create table {{{{ target.schema }}}}.{state}_hook_order_test (id int)",
                f"drop table {{{{ target.schema }}}}.{state}_hook_order_test",
            ]

        return {
            "on-run-start": [*tables("start"), "{{ log(env_var('TERM_TEST'), info=True) }}"],
            "on-run-end": [
                *tables("end"),
                "create table {{ target.schema }}.schemas (schema string)",
                "insert into {{ target.schema }}.schemas values"
                " {% for schema in schemas %}('{{ schema }}')"
                "{% if not loop.last %},{% endif %}{% endfor %}",
                "create table {{ target.schema }}.db_schemas (db string, schema string)",
                "insert into {{ target.schema }}.db_schemas values"
                " {% for db, schema in database_schemas %}"
                "({{ \"'\" ~ db ~ \"'\" if db else 'null' }}, '{{ schema }}')"
                "{% if not loop.last %},{% endif %}{% endfor %}",
            ],
            "seeds": {"quote_columns": False},
        }

    def asked(self, project: Any, count: int) -> dict[str, Any]:
        return {"project": project}


class TestAfterRunHooks(BaseAfterRunHooks):
    pass
