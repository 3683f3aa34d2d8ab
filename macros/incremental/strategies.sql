{#
  The strategy of an incremental model: what its config says; if that says nothing, `merge` for a
  model with a `unique_key` in a format that has MERGE, and else `append`.
#}
{% macro sparkivm__incremental_strategy(file_format) %}
  {%- set merges = file_format in ('delta', 'iceberg', 'hudi') -%}
  {%- set strategy = config.get('incremental_strategy') -%}
  {%- if strategy == 'merge' and not merges -%}
    {%- do exceptions.raise_compiler_error(
        "The incremental strategy 'merge' needs a format that has MERGE (delta, iceberg, hudi), and "
        ~ "this model's file_format is '" ~ file_format ~ "'."
    ) -%}
  {%- elif strategy == 'microbatch' and file_format != 'delta' and not config.get('partition_by') -%}
    {%- do exceptions.raise_compiler_error(
        "The incremental strategy 'microbatch' replaces whole partitions of a table that is not Delta: "
        ~ "set partition_by to a column as fine as batch_size (" ~ config.get('batch_size') ~ ")."
    ) -%}
  {%- endif -%}
  {{ return(strategy or ('merge' if config.get('unique_key') and merges else 'append')) }}
{% endmacro %}


{# Name a column that a MERGE would not find: Delta's own error is internal, and names none. #}
{% macro sparkivm__check_merged_columns(source_columns, dest_columns, unique_key) %}
  {%- set given = source_columns | map(attribute='name') | map('lower') | list -%}
  {%- set stored = dest_columns | map(attribute='name') | map('lower') | list -%}
  {%- for key in ([unique_key] if unique_key is string else unique_key or []) -%}
    {%- set name = (key | string).strip('`') -%}
    {#- What is no plain name is an expression. -#}
    {%- if modules.re.fullmatch('\\w+', name) and (name.lower() not in given or name.lower() not in stored) -%}
      {%- do exceptions.raise_compiler_error(
          "unique_key names the column '" ~ name ~ "', which "
          ~ ("the model's query" if name.lower() not in given else "the table " ~ this)
          ~ " does not have. Its columns are: "
          ~ (given if name.lower() not in given else stored) | join(', ') ~ "."
      ) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- for name in stored if name not in given -%}
    {%- do exceptions.raise_compiler_error(
        "The model's query does not have the column '" ~ name ~ "' any more, which the table " ~ this
        ~ " has. Set on_schema_change to append_new_columns to keep it as it is, or to sync_all_columns "
        ~ "to drop it; --full-refresh builds the table anew."
    ) -%}
  {%- endfor -%}
{% endmacro %}


{% macro sparkivm__get_incremental_append_sql(arg_dict) %}
  {%- set names = arg_dict['dest_columns'] | map(attribute='quoted') | join(', ') -%}
  insert into {{ arg_dict['target_relation'] }} ({{ names }})
  select {{ names }} from {{ arg_dict['temp_relation'] }}
{% endmacro %}


{# What a user's own strategy may call: `merge` if there is a key, else `append`. #}
{% macro sparkivm__get_incremental_default_sql(arg_dict) %}
  {%- if arg_dict['unique_key'] -%}
    {{ return(get_incremental_merge_sql(arg_dict)) }}
  {%- endif -%}
  {{ return(get_incremental_append_sql(arg_dict)) }}
{% endmacro %}


{% macro sparkivm__get_incremental_insert_overwrite_sql(arg_dict) %}
  {{ return(get_insert_overwrite_sql(
      arg_dict['temp_relation'], arg_dict['target_relation'], arg_dict['target_relation']
  )) }}
{% endmacro %}


{#
  The rows of a batch's time in place of those that the table has of it: by the partitions that the
  user has laid out, or else by the time itself, as one commit.
#}
{% macro sparkivm__get_incremental_microbatch_sql(arg_dict) %}
  {%- if config.get('partition_by') -%}
    {{ return(get_incremental_insert_overwrite_sql(arg_dict)) }}
  {%- endif -%}
  {%- set time = config.get('event_time') -%}
  {%- set start = model.batch.event_time_start if model.batch else none -%}
  {%- set end = model.batch.event_time_end if model.batch else none -%}
  {%- set bounds = [] -%}
  {%- if start -%}{%- do bounds.append(time ~ " >= '" ~ start ~ "'") -%}{%- endif -%}
  {%- if end -%}{%- do bounds.append(time ~ " < '" ~ end ~ "'") -%}{%- endif -%}
  {%- set names = adapter.get_columns_in_relation(arg_dict['target_relation'])
      | map(attribute='quoted') | join(', ') -%}
  insert into {{ arg_dict['target_relation'] }}
  replace where {{ bounds | join(' and ') or 'true' }}
  select {{ names }} from {{ arg_dict['temp_relation'] }}
{% endmacro %}


{#
  One MERGE that names its columns: dbt-spark's takes all of the table's from the query, which may
  have lost one.
#}
{% macro sparkivm__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- set keys = [unique_key] if unique_key is string else unique_key or [] -%}
  {%- set conditions = [] + (incremental_predicates or []) -%}
  {%- for key in keys if key -%}
    {%- do conditions.append('DBT_INTERNAL_SOURCE.' ~ key ~ ' = DBT_INTERNAL_DEST.' ~ key) -%}
  {%- endfor -%}
  {%- set names = dest_columns | map(attribute='quoted') | list -%}
  {%- set updated = get_merge_update_columns(
      config.get('merge_update_columns'), config.get('merge_exclude_columns'), dest_columns
  ) or names -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on {{ conditions | join(' and ') if keys | select | list else 'false' }}
  when matched then update set
    {%- for name in updated %}
    {{ name }} = DBT_INTERNAL_SOURCE.{{ name }}{{ ',' if not loop.last }}
    {%- endfor %}
  when not matched then insert ({{ names | join(', ') }})
    values (
      {%- for name in names -%}
        DBT_INTERNAL_SOURCE.{{ name }}{{ ', ' if not loop.last }}
      {%- endfor -%}
    )
{% endmacro %}
