-- The integer square root is the least y with (y + 1)² > x.
with recursive
root_in(x) as (
  select cast(n as bigint) from values (0), (1), (8), (9), (99), (10000) as asked(n)
),
{{ ivm_minimization('root', ['x'], condition='too_small') }},
too_small(x, y, v) as (select x, y, if((y + 1) * (y + 1) > x, 0, 1) from too_small_in)
select x, v as root from root
