{#
  Functions of natural numbers as bindings of a loop program, by the three templates of Imaki and
  Nishizawa ("Turing Completeness of Recursive Stream Data Processing with Delay Operators").

  A function f of x1, … is two bindings: f_in(x1, …) holds what is asked, f(x1, …, v) each answer.
  You write the f_in of the outermost function, and the bindings of the functions that a template
  names; their _in is written by the template. Each call needs functions of names of its own.
#}

{#
  f(x) = outer(inner1(x), inner2(x), …)

  outer has the arguments y1, y2, …, one for each of inner.
#}
{% macro ivm_composition(name, arguments, outer, inner) -%}
{%- for function in inner %}
{{ function }}_in({{ arguments | join(', ') }}) as (select {{ arguments | join(', ') }} from {{ name }}_in),
{%- endfor %}
{{ outer }}_in({% for _ in inner %}y{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %}) as (
  select distinct {% for function in inner %}{{ function }}.v{{ ', ' if not loop.last }}{% endfor %}
  from {{ _ivm_answered(name, arguments, inner) }}
),
{{ name }}({{ arguments | join(', ') }}, v) as (
  select {% for a in arguments %}{{ name }}_in.{{ a }}, {% endfor %}{{ outer }}.v
  from {{ _ivm_answered(name, arguments, inner) }}
  join {{ outer }} on {% for function in inner -%}
    {{ outer }}.y{{ loop.index }} = {{ function }}.v{{ ' and ' if not loop.last }}
  {%- endfor %}
)
{%- endmacro %}

{#
  f(x, 0) = base(x);  f(x, y + 1) = step(x, y, f(x, y))

  f has the arguments x and y, step x, y and z. Each y takes a round.
#}
{% macro ivm_primitive_recursion(name, arguments, base, step) -%}
{%- set x -%}{% for a in arguments %}{{ a }}, {% endfor %}{%- endset -%}
{{ base }}_in({{ arguments | join(', ') }}) as (select distinct {{ arguments | join(', ') }} from {{ name }}_in),
{{ name }}_w({{ x }}y, y_asked, v) as (
  select {% for a in arguments %}asked.{{ a }}, {% endfor %}0, asked.y, {{ base }}.v
  from {{ name }}_in asked
  join {{ base }} on {{ _ivm_same('asked', base, arguments) }}
  union
  select {% for a in arguments %}w.{{ a }}, {% endfor %}w.y + 1, w.y_asked, {{ step }}.v
  from {{ ivm_delay(name ~ '_w') }} w
  join {{ ivm_delay(step) }} {{ step }} on {{ _ivm_same('w', step, arguments + ['y']) }} and {{ step }}.z = w.v
  where w.y <> w.y_asked
),
{{ step }}_in({{ x }}y, z) as (select distinct {{ x }}y, v from {{ name }}_w where y <> y_asked),
{{ name }}({{ x }}y, v) as (select {{ x }}y, v from {{ name }}_w where y = y_asked)
{%- endmacro %}

{#
  f(x) = the least y with condition(x, y) = 0; without one the loop has no end.

  condition has the arguments x and y. Each y takes a round.
#}
{% macro ivm_minimization(name, arguments, condition) -%}
{%- set x -%}{% for a in arguments %}{{ a }}, {% endfor %}{%- endset -%}
{{ name }}_w({{ x }}y) as (
  select {{ x }}0 from {{ name }}_in
  union
  select {% for a in arguments %}w.{{ a }}, {% endfor %}w.y + 1
  from {{ ivm_delay(name ~ '_w') }} w
  join {{ ivm_delay(condition) }} {{ condition }} on {{ _ivm_same('w', condition, arguments + ['y']) }}
  where {{ condition }}.v <> 0
),
{{ condition }}_in({{ x }}y) as (select {{ x }}y from {{ name }}_w),
{{ name }}({{ x }}v) as (
  select {% for a in arguments %}w.{{ a }}, {% endfor %}w.y
  from {{ name }}_w w
  join {{ condition }} on {{ _ivm_same('w', condition, arguments + ['y']) }}
  where {{ condition }}.v = 0
)
{%- endmacro %}

{% macro _ivm_same(one, other, columns) -%}
{%- for column in columns -%}
{{ one }}.{{ column }} = {{ other }}.{{ column }}{{ ' and ' if not loop.last }}
{%- else -%}true{%- endfor -%}
{%- endmacro %}

{% macro _ivm_answered(name, arguments, inner) -%}
{{ name }}_in
{%- for function in inner %} join {{ function }} on {{ _ivm_same(name ~ '_in', function, arguments) }}{% endfor %}
{%- endmacro %}
