{#
  The user's `tblproperties`, and a change feed where a maintained model reads the table, of which
  one statement is to make the table from a query.
#}
{% macro sparkivm__tblproperties_clause(columns=[]) %}
  {%- set properties = adapter.ivm_table_properties(
      model.unique_id, config, graph, columns, from_query=true
  ) -%}
  {%- if properties -%}
    tblproperties {{ sparkivm__property_list(properties) }}
  {%- endif -%}
{% endmacro %}


{#
  Switch on the change feed of a table that was made before a maintained model read it. So the
  commits of this run are in it.
#}
{% macro sparkivm__follow_existing_table(relation) %}
  {%- set feed = 'delta.enableChangeDataFeed' -%}
  {%- set wanted = adapter.ivm_table_properties(model.unique_id, config, graph) -%}
  {%- if relation and relation.is_delta and wanted.get(feed) == 'true' -%}
    {%- set present = sparkivm__table_properties(relation) -%}
    {%- if present.get(feed | lower) != 'true' -%}
      {%- set columns = adapter.get_columns_in_relation(relation) -%}
      {%- set wanted = adapter.ivm_table_properties(model.unique_id, config, graph, columns) -%}
      {%- if feed in wanted -%}
        {%- do sparkivm__add_table_properties(relation, {feed: 'true'}, present) -%}
      {%- endif -%}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}


{# The properties of a table, by their names in lower case. #}
{% macro sparkivm__table_properties(relation) %}
  {%- set present = {} -%}
  {%- for row in fetch_tbl_properties(relation).rows -%}
    {%- do present.update({row[0] | lower: row[1] | string}) -%}
  {%- endfor -%}
  {{ return(present) }}
{% endmacro %}


{# Give a table those properties that are not among its present ones. #}
{% macro sparkivm__add_table_properties(relation, properties, present) %}
  {%- set missing = {} -%}
  {%- for key, value in properties.items() if present.get(key | lower) != value -%}
    {%- do missing.update({key: value}) -%}
  {%- endfor -%}
  {%- if missing -%}
    {%- call statement('add_table_properties') -%}
      alter table {{ relation }} set tblproperties {{ sparkivm__property_list(missing) }}
    {%- endcall -%}
  {%- endif -%}
{% endmacro %}


{% macro sparkivm__property_list(properties) %}
  {%- set pairs = [] -%}
  {%- for key, value in properties.items() -%}
    {%- do pairs.append(
        "'" ~ sparkivm__escaped(key) ~ "' = '" ~ sparkivm__escaped(value) ~ "'"
    ) -%}
  {%- endfor -%}
  ({{ pairs | join(', ') }})
{%- endmacro %}


{% macro sparkivm__escaped(text) %}
  {{- text | replace("\\", "\\\\") | replace("'", "\\'") -}}
{% endmacro %}
