{{ config(ivm_step='commit') }}
-- A commit of quotes is a time point. The first quotes of a stock in it are only noted; the last one decides:
-- 100 shares are bought at the strategy's price or below, as long as there is cash, and all are sold above.
with cash as (
  select 10000 - coalesce(sum(quantity * price), 0) as amount from {{ this }}
),
held as (
  select stock, sum(quantity) as quantity from {{ this }} group by stock
),
undecided as (
  select id, stock, price, row_number() over (partition by stock order by id desc) = 1 as is_last
  from {{ source('world', 'quotes') }} q
  where not exists (select 1 from {{ this }} d where d.id = q.id)
),
wanted as (
  select
    u.id, u.stock, u.price,
    case
      when not u.is_last then 0
      when u.price >= s.sell_at then -coalesce(h.quantity, 0)
      when u.price <= s.buy_at then 100
      else 0
    end as quantity
  from undecided u
  join {{ source('world', 'strategy') }} s on s.stock = u.stock
  left join held h on h.stock = u.stock
),
priced as (
  select
    *,
    sum(case when quantity > 0 then quantity * price else 0 end) over (order by id) as cost
  from wanted
)
select
  id, stock, price,
  cast(case when quantity > 0 and cost > cash.amount then 0 else quantity end as int) as quantity
from priced cross join cash
union all
select id, stock, price, quantity from {{ this }}
