{{ config(ivm_step='commit') }}
-- Of each commit the payments of an account are taken together, or refused together.
with booked as (
  select coalesce(max(last_payment), 0) as last_payment from {{ this }}
),
changes as (
  select p.account, sum(p.amount) as amount, max(p.id) as last_payment
  from {{ source('world', 'payments') }} p cross join booked
  where p.id > booked.last_payment
  group by p.account
)
select
  coalesce(b.account, c.account) as account,
  cast(
    case
      when coalesce(b.balance, 0) + coalesce(c.amount, 0) < 0 then coalesce(b.balance, 0)
      else coalesce(b.balance, 0) + coalesce(c.amount, 0)
    end as decimal(18, 2)
  ) as balance,
  cast(coalesce(c.last_payment, b.last_payment) as int) as last_payment
from {{ this }} b
full join changes c on b.account = c.account
