-- A composition: (x + 1) times (x + 2).
with recursive
f_in(x) as (select cast(n as bigint) from values (0), (1), (5) as asked(n)),
{{ ivm_composition('f', ['x'], outer='product', inner=['one_more', 'two_more']) }},
one_more(x, v) as (select x, x + 1 from one_more_in),
two_more(x, v) as (select x, x + 2 from two_more_in),
product(y1, y2, v) as (select y1, y2, y1 * y2 from product_in)
select x, v from f
