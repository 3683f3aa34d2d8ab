CREATE OR REPLACE TABLE s.m__ivm_state
USING delta
TBLPROPERTIES ('delta.constraints.ivm_count' = '__ivm_count__ > 0', 'delta.enableChangeDataFeed' = 'true', 'ivm.query' = '"\\n    select c.nation, g.n from (select customer, count(*) as n from s.orders group by customer) g\\n    join s.customers c on c.id = g.customer\\n"')
AS
WITH g AS (
  SELECT
    orders.customer,
    COUNT(*) AS n
  FROM s.orders VERSION AS OF 0 AS orders
  GROUP BY
    orders.customer
)
SELECT
  COUNT(*) AS __ivm_count__,
  XXHASH64(c.nation, g.n, c.nation IS NULL, g.n IS NULL) AS __ivm_hash__,
  c.nation,
  g.n
FROM g
JOIN s.customers VERSION AS OF 0 AS c
  ON c.id = g.customer
GROUP BY
  c.nation,
  g.n
;

CREATE OR REPLACE VIEW s.m AS
SELECT
  nation,
  n
FROM s.m__ivm_state
UNION ALL
SELECT
  nation,
  n
FROM s.m__ivm_state
LATERAL VIEW
EXPLODE(SEQUENCE(2, __ivm_count__)) copies AS __ivm_copy__
WHERE
  __ivm_count__ > 1
;

MERGE INTO s.m__ivm_state AS stored
USING (
  WITH g_rows AS (
    SELECT
      orders.customer,
      1 AS __ivm_count__
    FROM s.orders VERSION AS OF 1 AS orders
    UNION ALL
    SELECT
      orders.customer,
      -1 AS __ivm_count__
    FROM s.orders VERSION AS OF 0 AS orders
  ), delta_orders AS (
    SELECT
      customer,
      CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS __ivm_count__
    FROM TABLE_CHANGES('`s`.`orders`', 1, 1)
  ), g_keys AS (
    SELECT
      orders.customer
    FROM delta_orders AS orders
  ), g AS (
    SELECT
      g_rows.customer,
      g_rows.__ivm_count__,
      COUNT(*) AS n
    FROM g_rows
    LEFT SEMI JOIN g_keys
      ON g_rows.customer IS NOT DISTINCT FROM g_keys.customer
    WHERE
      (
        g_rows.customer = 1 OR g_rows.customer IS NULL
      )
    GROUP BY
      g_rows.customer,
      g_rows.__ivm_count__
  )
  SELECT
    c.nation,
    g.n,
    SUM(g.__ivm_count__) AS __ivm_count__,
    XXHASH64(c.nation, g.n, c.nation IS NULL, g.n IS NULL) AS __ivm_hash__
  FROM g
  JOIN s.customers VERSION AS OF 0 AS c
    ON c.id = g.customer
  WHERE
    c.id = 1
  GROUP BY
    c.nation,
    g.n
  HAVING
    SUM(g.__ivm_count__) <> 0
) AS change
ON stored.__ivm_hash__ = change.__ivm_hash__
WHEN MATCHED AND stored.nation IS DISTINCT FROM change.nation
OR stored.n IS DISTINCT FROM change.n THEN UPDATE SET
  __ivm_count__ = RAISE_ERROR('two different rows of the view have the same hash')
WHEN MATCHED AND stored.__ivm_count__ + change.__ivm_count__ = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET
  __ivm_count__ = stored.__ivm_count__ + change.__ivm_count__
WHEN NOT MATCHED AND change.__ivm_count__ <> 0 THEN INSERT (nation, n, __ivm_hash__, __ivm_count__) VALUES (change.nation, change.n, change.__ivm_hash__, change.__ivm_count__)
