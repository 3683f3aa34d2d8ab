{#
  A maintained view equals its query, as bags, both ways, at the source versions that it shows.

      models:
        - name: revenue
          data_tests:
            - ivm_consistent

  Of a model that reads its own rows each run is computed again from the rows that the one before left:
  all runs since the build, or the last ones (`ivm_consistent: {arguments: {runs: 10}}`).

  Each row of the result is a row of the view or of the query, with how often either has it. Where
  nothing is run (`dbt compile`, `dbt docs generate`) or no rows are read (`--empty`, `--sample`),
  there is nothing to compare.
#}
{% test ivm_consistent(model, runs=none) %}
  {%- if execute and model is string -%}
    {%- do exceptions.raise_compiler_error(
        "ivm_consistent compares a whole view; it takes no config 'where'"
    ) -%}
  {%- endif -%}
  {%- set idle = flags.WHICH in ('compile', 'generate') or flags.EMPTY or flags.SAMPLE -%}
  {%- if execute and not idle -%}
    {{ adapter.ivm_consistency_query(model, runs) }}
  {%- else -%}
    select 1 as expected_rows where false
  {%- endif -%}
{% endtest %}


{# dbt's own test, and for ivm_consistent also the first rows that differ. #}
{% materialization test, adapter='sparkivm' %}
  {%- set result = materialization_test_default() -%}
  {%- set metadata = model.get('test_metadata') or {} -%}
  {%- if metadata.get('name') == 'ivm_consistent' and load_result('main')['data'][0][0] | int > 0 -%}
    {%- do sparkivm__log_differences(sql) -%}
  {%- endif -%}
  {{ return(result) }}
{% endmaterialization %}


{% macro sparkivm__log_differences(sql, most=5) %}
  {%- set differing = run_query('select * from (\n' ~ sql ~ '\n) as differing limit ' ~ most) -%}
  {%- do log(model.alias ~ ': rows whose number differs between query and view', info=true) -%}
  {%- for row in differing.rows -%}
    {%- set shown = [] -%}
    {%- for name in differing.column_names if name not in ('expected_rows', 'actual_rows') -%}
      {%- do shown.append(name ~ '=' ~ row[name]) -%}
    {%- endfor -%}
    {%- do log(
        '  (' ~ shown | join(', ') ~ ') expected ' ~ row['expected_rows']
        ~ ' times, found ' ~ row['actual_rows'], info=true
    ) -%}
  {%- endfor -%}
{% endmacro %}
