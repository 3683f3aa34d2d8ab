CREATE OR REPLACE TABLE s.m__ivm_state
USING delta
TBLPROPERTIES ('delta.constraints.ivm_count' = '__ivm_count__ > 0', 'delta.enableChangeDataFeed' = 'true', 'ivm.query' = '"select customer, max(total) as largest from s.orders group by customer"')
AS
SELECT
  COUNT(*) AS __ivm_count__,
  orders.customer,
  MAX(orders.total) AS largest
FROM s.orders VERSION AS OF 0 AS orders
GROUP BY
  orders.customer
;

CREATE OR REPLACE VIEW s.m AS
SELECT
  customer,
  largest
FROM s.m__ivm_state
;

MERGE INTO s.m__ivm_state AS stored
USING (
  WITH delta_orders AS (
    SELECT
      customer,
      total,
      CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS __ivm_count__
    FROM TABLE_CHANGES('`s`.`orders`', 1, 1)
  ), delta AS (
    /* Δorders */
    SELECT
      orders.customer,
      orders.total,
      orders.__ivm_count__
    FROM delta_orders AS orders
  ), net_delta AS (
    SELECT
      delta.customer,
      delta.total,
      SUM(delta.__ivm_count__) AS __ivm_count__
    FROM delta
    GROUP BY
      delta.customer,
      delta.total
    HAVING
      SUM(delta.__ivm_count__) <> 0
  ), changed AS (
    SELECT
      net_delta.customer,
      SUM(net_delta.__ivm_count__) AS __ivm_count__,
      MAX(CASE WHEN NOT net_delta.__ivm_count__ < 0 THEN net_delta.total END) AS largest,
      MAX(CASE WHEN net_delta.__ivm_count__ < 0 THEN net_delta.total END) AS __ivm_largest_gone__
    FROM net_delta
    GROUP BY
      net_delta.customer
  ), change AS (
    SELECT
      changed.customer,
      changed.__ivm_count__,
      changed.largest,
      changed.__ivm_largest_gone__,
      COALESCE(changed.__ivm_largest_gone__ >= stored.largest, FALSE) AS __ivm_lost__
    FROM changed
    LEFT JOIN s.m__ivm_state VERSION AS OF 0 AS stored
      ON stored.customer IS NOT DISTINCT FROM changed.customer
      AND (
        stored.customer = 1 OR stored.customer IS NULL
      )
  ), lost AS (
    SELECT
      change.customer
    FROM change
    WHERE
      change.__ivm_lost__
  ), recomputed AS (
    SELECT
      orders.customer,
      MAX(orders.total) AS __ivm_largest_new__
    FROM s.orders VERSION AS OF 1 AS orders
    LEFT SEMI JOIN lost
      ON orders.customer IS NOT DISTINCT FROM lost.customer
    WHERE
      (
        orders.customer = 1 OR orders.customer IS NULL
      )
    GROUP BY
      orders.customer
  )
  SELECT
    change.customer,
    change.__ivm_count__,
    change.largest,
    change.__ivm_largest_gone__,
    change.__ivm_lost__,
    recomputed.__ivm_largest_new__
  FROM change
  LEFT JOIN recomputed
    ON change.customer IS NOT DISTINCT FROM recomputed.customer
) AS change
ON stored.customer IS NOT DISTINCT FROM change.customer
AND (
  stored.customer = 1 OR stored.customer IS NULL
)
WHEN MATCHED AND stored.__ivm_count__ + change.__ivm_count__ = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET
  __ivm_count__ = stored.__ivm_count__ + change.__ivm_count__,
  largest = CASE
    WHEN change.__ivm_lost__
    THEN change.__ivm_largest_new__
    ELSE GREATEST(stored.largest, change.largest)
  END
WHEN NOT MATCHED AND change.__ivm_count__ <> 0 THEN INSERT (customer, __ivm_count__, largest) VALUES (
  change.customer,
  change.__ivm_count__,
  CASE
    WHEN change.__ivm_lost__
    THEN change.__ivm_largest_new__
    ELSE change.largest
  END
)
