CREATE OR REPLACE TABLE s.m__ivm_state
USING delta
TBLPROPERTIES ('delta.constraints.ivm_count' = '__ivm_count__ > 0', 'delta.enableChangeDataFeed' = 'true', 'ivm.query' = '"select id, total from s.orders where total > 10"')
AS
SELECT
  COUNT(*) AS __ivm_count__,
  XXHASH64(orders.id, orders.total, orders.id IS NULL, orders.total IS NULL) AS __ivm_hash__,
  orders.id,
  orders.total
FROM s.orders VERSION AS OF 0 AS orders
WHERE
  orders.total > 10
GROUP BY
  orders.id,
  orders.total
;

CREATE OR REPLACE VIEW s.m AS
SELECT
  id,
  total
FROM s.m__ivm_state
UNION ALL
SELECT
  id,
  total
FROM s.m__ivm_state
LATERAL VIEW
EXPLODE(SEQUENCE(2, __ivm_count__)) copies AS __ivm_copy__
WHERE
  __ivm_count__ > 1
;

MERGE INTO s.m__ivm_state AS stored
USING (
  WITH delta_orders AS (
    SELECT
      id,
      total,
      CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS __ivm_count__
    FROM TABLE_CHANGES('`s`.`orders`', 1, 1)
  )
  SELECT
    orders.id,
    orders.total,
    SUM(orders.__ivm_count__) AS __ivm_count__,
    XXHASH64(orders.id, orders.total, orders.id IS NULL, orders.total IS NULL) AS __ivm_hash__
  FROM delta_orders AS orders
  WHERE
    orders.total > 10
  GROUP BY
    orders.id,
    orders.total
  HAVING
    SUM(orders.__ivm_count__) <> 0
) AS change
ON stored.__ivm_hash__ = change.__ivm_hash__
AND (
  stored.id BETWEEN 1 AND 2 OR stored.id IS NULL
)
WHEN MATCHED AND stored.id IS DISTINCT FROM change.id
OR stored.total IS DISTINCT FROM change.total THEN UPDATE SET
  __ivm_count__ = RAISE_ERROR('two different rows of the view have the same hash')
WHEN MATCHED AND stored.__ivm_count__ + change.__ivm_count__ = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET
  __ivm_count__ = stored.__ivm_count__ + change.__ivm_count__
WHEN NOT MATCHED AND change.__ivm_count__ <> 0 THEN INSERT (id, total, __ivm_hash__, __ivm_count__) VALUES (change.id, change.total, change.__ivm_hash__, change.__ivm_count__)
