select k.campaign, k.channel, k.cost, count(f.customer_id) as customers, sum(v.value) as value
from {{ ref('campaigns') }} k
left join {{ ref('int_first_orders') }} f on f.first_campaign = k.campaign
left join {{ ref('customer_value') }} v on v.customer_id = f.customer_id
group by k.campaign, k.channel, k.cost
