-- Addition is the successor, y times; multiplication is addition, y times.
with recursive
multiply_in(x, y) as (
  select cast(m as bigint), cast(n as bigint)
  from values (3, 4), (7, 0), (0, 5), (6, 7) as asked(m, n)
),
{{ ivm_primitive_recursion('multiply', ['x'], base='zero', step='add_once_more') }},
zero(x, v) as (select x, cast(0 as bigint) from zero_in),
add_in(x, y) as (select distinct x, z from add_once_more_in),
add_once_more(x, y, z, v) as (
  select asked.x, asked.y, asked.z, add.v
  from add_once_more_in asked join add on add.x = asked.x and add.y = asked.z
),
{{ ivm_primitive_recursion('add', ['x'], base='itself', step='successor') }},
itself(x, v) as (select x, x from itself_in),
successor(x, y, z, v) as (select x, y, z, z + 1 from successor_in)
select x, y, v as product from multiply
