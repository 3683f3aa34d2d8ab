"""`dbt docs generate`: the comments of tables, views and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.comments import described
from dbt.adapters.sparkivm.relation import catalog_of

logger = AdapterLogger("SparkIvm")


class CommentsMixin(metaclass=AdapterMeta):
    """The adapter's part of the catalog that says what people wrote about relations."""

    def _get_columns_for_catalog(self, relation: BaseRelation) -> Iterator[dict[str, Any]]:
        """The columns of a relation, counted from 1 as other adapters do, with their comments."""
        comments: dict[str, str] = {}
        details: dict[str, str] = {}
        try:
            catalog = catalog_of(relation.database, relation.schema)
            name = tuple(part for part in (catalog, relation.schema, relation.identifier) if part)
            comments, details = described(self._ivm_query, name)  # type: ignore[attr-defined]
        except DbtRuntimeError as error:  # dropped meanwhile, or a view that no longer works
            logger.debug(f"No comments of {relation}: {error}")
        for column in super()._get_columns_for_catalog(relation):  # type: ignore[misc]
            yield {
                **column,
                "column_index": column["column_index"] + 1,
                "table_comment": details.get("Comment") or None,
                "column_comment": comments.get(column["column_name"]) or None,
            }
