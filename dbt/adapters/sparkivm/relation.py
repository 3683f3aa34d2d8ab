"""dbt's relations: names of two parts, and of three for sources in another catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.relation import HasQuoting, RelationConfig, RelationType
from dbt.adapters.spark.relation import SparkIncludePolicy, SparkRelation
from dbt_common.exceptions import CompilationError

from dbt.adapters.sparkivm.bridge.relations import KINDS

_WITH_CATALOG = SparkIncludePolicy(database=True)


@dataclass(frozen=True, eq=False, repr=False)
class SparkIvmRelation(SparkRelation):
    """dbt-spark's relation, whose `database` may name a catalog.

    What dbt builds lies in the target's catalog, and its name does without. A `database` that is
    the schema's name means nothing, as in dbt-spark.
    """

    def __post_init__(self) -> None:
        """Take any database; dbt-spark refuses all but the schema."""

    def render(self) -> str:
        """The name in SQL."""
        return BaseRelation.render(self)

    @classmethod
    def create(
        cls,
        database: str | None = None,
        schema: str | None = None,
        identifier: str | None = None,
        type: RelationType | None = None,
        **kwargs: Any,
    ) -> SparkIvmRelation:
        """A relation, whose name has a catalog if the database is one."""
        catalog = catalog_of(database, schema)
        if catalog is not None:
            kwargs.setdefault("include_policy", _WITH_CATALOG.to_dict())
        made: SparkIvmRelation = super().create(catalog, schema, identifier, type, **kwargs)
        return made

    @classmethod
    def create_from(
        cls, quoting: HasQuoting, relation_config: RelationConfig, **kwargs: Any
    ) -> SparkIvmRelation:
        """The relation of a model, seed, snapshot or source.

        Raises:
            CompilationError: something is to be built in another catalog than the target's.
        """
        catalog = catalog_of(relation_config.database, relation_config.schema)
        if catalog is not None and relation_config.resource_type in KINDS:
            raise CompilationError(
                f"{relation_config.name} has the database {catalog}, and what dbt builds lies in "
                "the target's catalog. Take `database` out of its config; to build all of the "
                "project in that catalog, set `database` in the profile's target."
            )
        made: SparkIvmRelation = super().create_from(quoting, relation_config, **kwargs)
        return made

    def in_catalog(self, catalog: str) -> SparkIvmRelation:
        """This relation, by its name with a catalog."""
        path = self.path.replace(database=catalog)
        return self.replace(path=path, include_policy=_WITH_CATALOG)


def catalog_of(database: str | None, schema: str | None) -> str | None:
    """The catalog that dbt's `database` names; None if it says nothing."""
    return database if database and database != schema else None
