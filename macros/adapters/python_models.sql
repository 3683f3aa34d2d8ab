{#
  The code that is run for a Python model: its own, dbt's (ref, source, config, this), and this end.

  Its result becomes a temporary view, of which the statement of a SQL model makes the table: so all
  configs of tables hold for both. Not so for the table between an incremental model and its MERGE,
  which must not lie in the model's own location.
#}
{% macro py_write_table(compiled_code, target_relation) %}
{%- set view = 'dbt_python_' ~ (model.unique_id | replace('.', '_')) -%}
{%- set query = 'select * from ' ~ adapter.quote(view) -%}
{%- if target_relation.identifier == this.identifier -%}
  {%- set statement = create_table_as(False, target_relation, query, 'sql') | trim -%}
{%- else -%}
  {%- set statement = 'create or replace table ' ~ target_relation ~ ' using delta as ' ~ query -%}
{%- endif -%}
{#- On a line of its own: whoever calls this has written blanks. -#}
{{ '\n' ~ compiled_code }}

# By dbt-sparkivm: run the model, and write what it returns.
from dbt.adapters.sparkivm.python_models.result import save as dbt_save

dbt_save(
    spark,
    model(dbtObj(spark.table), spark),
    view={{ view | tojson }},
    statement={{ statement | tojson }},
)
{% endmacro %}


{% macro py_script_comment() %}
# To run this by hand, with a SparkSession named spark: model(dbtObj(spark.table), spark)
{% endmacro %}
