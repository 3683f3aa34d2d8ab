select s.market, count(*) as customers, sum(c.lifetime_value) as lifetime_value
from {{ ref('customers') }} c
left join {{ ref('segments') }} s on s.region = c.region
group by s.market
