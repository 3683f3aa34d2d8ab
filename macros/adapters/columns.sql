{#
  What dbt asks of a relation is asked of the relation itself, even where `--empty` or `--sample` would
  have it read as a query.
#}
{% macro sparkivm__get_columns_in_relation_raw(relation) -%}
  {%- call statement('get_columns_in_relation_raw', fetch_result=True) -%}
    describe extended {{ relation.render() }}
  {%- endcall -%}
  {{ return(load_result('get_columns_in_relation_raw').table) }}
{%- endmacro %}


{% macro sparkivm__alter_column_type(relation, column_name, new_column_type) -%}
  {%- call statement('alter_column_type') -%}
    alter table {{ relation.render() }} alter column {{ adapter.quote(column_name) }}
    type {{ new_column_type }}
  {%- endcall -%}
{%- endmacro %}


{#
  dbt-spark drops no columns. Delta can, once they are mapped by name: which is switched on for a table
  whose columns are to be dropped, and cannot be taken back.
#}
{% macro sparkivm__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- set table = relation.render() -%}
  {%- if add_columns -%}
    {%- call statement('add_columns') -%}
      alter table {{ table }} add columns (
        {%- for column in add_columns -%}
          {{ column.quoted }} {{ column.data_type }}{{ ', ' if not loop.last }}
        {%- endfor -%}
      )
    {%- endcall -%}
  {%- endif -%}
  {%- if remove_columns and execute -%}
    {%- set known = load_cached_relation(relation) or relation -%}
    {%- if known.is_delta -%}
      {%- set mapping = {'delta.columnMapping.mode': 'name'} -%}
      {%- set present = sparkivm__table_properties(relation) -%}
      {%- if present.get('delta.columnmapping.mode', 'none') == 'none' -%}
        {%- do sparkivm__add_table_properties(relation, mapping, present) -%}
      {%- endif -%}
    {%- elif not known.is_iceberg -%}
      {%- do exceptions.raise_compiler_error(
          'No column can be dropped from ' ~ table ~ ', which is neither a Delta nor an Iceberg table: '
          ~ 'run the model with --full-refresh.'
      ) -%}
    {%- endif -%}
    {%- call statement('drop_columns') -%}
      alter table {{ table }} drop columns ({{ remove_columns | map(attribute='quoted') | join(', ') }})
    {%- endcall -%}
  {%- endif -%}
{% endmacro %}


{% macro sparkivm__truncate_relation(relation) -%}
  {%- call statement('truncate_relation') -%}
    truncate table {{ relation.render() }}
  {%- endcall -%}
{%- endmacro %}
