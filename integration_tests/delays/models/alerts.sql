{{ config(ivm_step='commit') }}
-- Between the two bounds an alert stays what it was.
with latest as (
  select sensor, value
  from {{ source('world', 'readings') }}
  qualify row_number() over (partition by sensor order by id desc) = 1
)
select
  r.sensor,
  case
    when r.value > 90 then true
    when r.value < 70 then false
    else coalesce(a.alert, false)
  end as alert
from latest r
left join {{ this }} a on a.sensor = r.sensor
