-- Who owes and who is owed: customers and suppliers in one list, equal lines kept.
select
    'customer' as role,
    c_nationkey as nationkey,
    round(c_acctbal, -2) as balance
from {{ source('tpch', 'customer') }}

union all

select
    'supplier' as role,
    s_nationkey as nationkey,
    round(s_acctbal, -2) as balance
from {{ source('tpch', 'supplier') }}
