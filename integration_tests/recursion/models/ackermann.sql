-- Ackermann's function f(3, 10) with a memory: requests are bags, answers and what is asked are sets.
--   (0) f(0, y) = y + 1   (1) f(x, 0) = f(x - 1, 1)   (2) f(x, y) = f(x - 1, f(x, y - 1))
with recursive
asked(x, y) as (select cast(3 as bigint), cast(10 as bigint)),
f(x, y) as (select x, y from asked union select x, y from {{ ivm_delay('requests') }}),
requests(x, y) as (
  select x - 1, 1 from f where x > 0 and y = 0
  union all
  select x, y - 1 from f where x > 0 and y > 0
  union all
  select f.x - 1, r.v from f join {{ ivm_delay('r') }} r on r.x = f.x and r.y = f.y - 1 where f.x > 0
),
r(x, y, v) as (
  select x, y, y + 1 from f where x = 0
  union
  select f.x, f.y, r.v from f join {{ ivm_delay('r') }} r on r.x = f.x - 1 and r.y = 1
  where f.x > 0 and f.y = 0
  union
  select f.x, f.y, r.v
  from f
  join {{ ivm_delay('r') }} before on before.x = f.x and before.y = f.y - 1
  join {{ ivm_delay('r') }} r on r.x = f.x - 1 and r.y = before.v
  where f.x > 0 and f.y > 0
),
counted as (select count(*) + 1 as requests from requests)
select r.v, (select count(*) from r) as pairs, counted.requests,
  counted.requests - (select count(*) from r) as hits
from r cross join counted
where r.x = 3 and r.y = 10
