{#
  The file's rows as temporary views of this connection; returns their names, none without rows.

  A view holds its rows as one literal, from which Spark makes texts and then values.
#}
{% macro sparkivm__stage_seed(agate_table, columns) %}
  {%- set views = [] -%}
  {%- for encoded in adapter.ivm_seed_batches(agate_table) -%}
    {%- set view = '__ivm_seed_' ~ loop.index -%}
    {%- set sql -%}
      create or replace temporary view {{ view }} as
      select
        {%- for column in columns %}
        cast(cells[{{ column.position }}] as {{ column.dtype }}) as {{ column.quoted }}
        {{- ',' if not loop.last }}
        {%- endfor %}
      from (
        select explode(
          from_json(cast(unbase64(encoded) as string), 'array<array<string>>')
        ) as cells
        from values ('{{ encoded }}') as batch (encoded)
      )
    {%- endset -%}
    {%- do adapter.add_query(sql, auto_begin=False, abridge_sql_log=True) -%}
    {%- do views.append(view) -%}
  {%- endfor -%}
  {{ return(views) }}
{% endmacro %}


{# Fill an empty table. #}
{% macro sparkivm__load_all(relation, columns, staged, rows, create_sql) %}
  {%- set names = columns | map(attribute='quoted') | join(', ') -%}
  {%- set sql = '' -%}
  {%- if staged -%}
    {%- set sql -%}
      insert into {{ relation }} ({{ names }})
      {{ sparkivm__staged_rows(columns, staged) }}
    {%- endset -%}
    {%- call statement('load_seed') -%}{{ sql }}{%- endcall -%}
  {%- endif -%}
  {%- set code = 'CREATE' if should_full_refresh() else 'INSERT' -%}
  {{ return({
      'sql': get_csv_sql(create_sql, sql),
      'message': code ~ ' ' ~ rows, 'code': code, 'rows': rows,
  }) }}
{% endmacro %}


{#
  Bring a table to the file's rows by one commit, or none where nothing differs.

  Rows are compared as bags. Of a row that the table has too often, all copies are deleted and as
  many as the file has are inserted, as a MERGE can't tell copies from each other.
#}
{% macro sparkivm__load_difference(relation, columns, staged) %}
  {%- set difference = sparkivm__seed_difference(relation, columns, staged) -%}
  {%- set counts -%}
    select
      coalesce(sum(greatest(__ivm_new - __ivm_old, 0)), 0) as added,
      coalesce(sum(greatest(__ivm_old - __ivm_new, 0)), 0) as removed
    from ({{ difference }})
  {%- endset -%}
  {%- set counted = run_query(counts).rows[0] -%}
  {%- set added = counted[0] | int -%}
  {%- set removed = counted[1] | int -%}

  {%- set sql = '' -%}
  {%- if removed -%}
    {%- set sql = sparkivm__merge_seed(relation, columns, difference) -%}
  {%- elif added -%}
    {%- set sql = sparkivm__append_to_seed(relation, columns, difference) -%}
  {%- endif -%}
  {%- if sql -%}
    {%- call statement('load_seed') -%}{{ sql }}{%- endcall -%}
  {%- endif -%}
  {{ return({
      'sql': sql or counts,
      'message': ('+' ~ added ~ ' -' ~ removed ~ ' rows') if sql else 'no row differs',
      'code': 'MERGE' if sql else 'NOOP', 'rows': added + removed,
  }) }}
{% endmacro %}


{# Each row that file and table don't have equally often, with both numbers. #}
{% macro sparkivm__seed_difference(relation, columns, staged) %}
  {%- set names = columns | map(attribute='quoted') | join(', ') -%}
  select {{ names }}, sum(__ivm_new) as __ivm_new, sum(__ivm_old) as __ivm_old
  from (
    {% if staged -%}
    select *, 1 as __ivm_new, 0 as __ivm_old
    from ({{ sparkivm__staged_rows(columns, staged) }})
    union all
    {% endif -%}
    select {{ names }}, 0 as __ivm_new, 1 as __ivm_old from {{ relation }}
  )
  group by {{ names }}
  having sum(__ivm_new) <> sum(__ivm_old)
{% endmacro %}


{% macro sparkivm__merge_seed(relation, columns, difference) %}
  {%- set names = columns | map(attribute='quoted') | join(', ') -%}
  merge into {{ relation }} as seed
  using (
    with difference as ({{ difference }})
    select {{ names }}, true as __ivm_gone
    from difference
    where __ivm_new < __ivm_old
    union all
    select {{ names }}, false as __ivm_gone
    from difference
    lateral view explode(sequence(1, __ivm_new)) copies as __ivm_copy
    where __ivm_new > 0 and (__ivm_new < __ivm_old or __ivm_copy > __ivm_old)
  ) as changed
  on changed.__ivm_gone
    {%- for column in columns %}
    and seed.{{ column.quoted }} <=> changed.{{ column.quoted }}
    {%- endfor %}
  when matched then delete
  when not matched and not changed.__ivm_gone then insert ({{ names }}) values (
    {%- for column in columns -%}
      changed.{{ column.quoted }}{{ ', ' if not loop.last }}
    {%- endfor -%}
  )
{% endmacro %}


{% macro sparkivm__append_to_seed(relation, columns, difference) %}
  {%- set names = columns | map(attribute='quoted') | join(', ') -%}
  insert into {{ relation }} ({{ names }})
  select {{ names }}
  from ({{ difference }})
  lateral view explode(sequence(__ivm_old + 1, __ivm_new)) copies as __ivm_copy
{% endmacro %}


{% macro sparkivm__staged_rows(columns, staged) %}
  {%- set names = columns | map(attribute='quoted') | join(', ') -%}
  {%- for view in staged -%}
    select {{ names }} from {{ view }}{{ ' union all ' if not loop.last }}
  {%- endfor -%}
{% endmacro %}
