CREATE OR REPLACE TABLE s.m__ivm_state
USING delta
TBLPROPERTIES ('delta.constraints.ivm_count' = '__ivm_count__ > 0', 'delta.enableChangeDataFeed' = 'true', 'ivm.query' = '"\\n    select c.nation, count(*) as orders, sum(i.qty) as qty, avg(o.total) as mean\\n    from s.orders o join s.customers c on o.customer = c.id join s.items i on i.order_id = o.id\\n    where o.total > 1\\n    group by c.nation\\n    having count(*) > 1\\n    order by qty desc, nation\\n    limit 10\\n"')
AS
SELECT
  COUNT(*) AS __ivm_count__,
  c.nation,
  COUNT(i.qty) AS __ivm_nonnull_1__,
  SUM(i.qty) AS qty,
  COUNT(o.total) AS __ivm_nonnull_2__,
  SUM(o.total) AS __ivm_sum_2__
FROM s.orders VERSION AS OF 0 AS o
JOIN s.customers VERSION AS OF 0 AS c
  ON o.customer = c.id
JOIN s.items VERSION AS OF 0 AS i
  ON i.order_id = o.id
WHERE
  o.total > 1
GROUP BY
  c.nation
;

CREATE OR REPLACE VIEW s.m AS
SELECT
  nation,
  __ivm_count__ AS orders,
  qty,
  CAST(CAST((
    __ivm_sum_2__ - (
      __ivm_sum_2__ % NULLIF(__ivm_nonnull_2__, 0)
    )
  ) / NULLIF(__ivm_nonnull_2__, 0) AS DECIMAL(13, 0)) + CAST((
    __ivm_sum_2__ % NULLIF(__ivm_nonnull_2__, 0)
  ) / NULLIF(__ivm_nonnull_2__, 0) AS DECIMAL(7, 6)) AS DECIMAL(19, 6)) AS mean
FROM s.m__ivm_state
WHERE
  __ivm_count__ > 1
ORDER BY
  qty DESC,
  nation
LIMIT 10
;

MERGE INTO s.m__ivm_state AS stored
USING (
  WITH delta_orders AS (
    SELECT
      id,
      customer,
      total,
      CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS __ivm_count__
    FROM TABLE_CHANGES('`s`.`orders`', 1, 1)
  ), delta_items AS (
    SELECT
      order_id,
      qty,
      CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS __ivm_count__
    FROM TABLE_CHANGES('`s`.`items`', 1, 1)
  ), delta AS (
    /* Δo ⋈ c ⋈ i before */
    SELECT
      c.nation,
      i.qty,
      o.total,
      o.__ivm_count__
    FROM delta_orders AS o
    JOIN s.customers VERSION AS OF 0 AS c
      ON o.customer = c.id
    JOIN s.items VERSION AS OF 0 AS i
      ON i.order_id = o.id
    WHERE
      o.total > 1 AND c.id = 1 AND i.order_id = 2
    UNION ALL
    /* Δi ⋈ o now ⋈ c */
    SELECT
      c.nation,
      i.qty,
      o.total,
      i.__ivm_count__
    FROM delta_items AS i
    JOIN s.orders VERSION AS OF 1 AS o
      ON i.order_id = o.id
    JOIN s.customers VERSION AS OF 0 AS c
      ON o.customer = c.id
    WHERE
      o.total > 1 AND o.id = 2
  )
  SELECT
    delta.nation,
    SUM(delta.__ivm_count__) AS __ivm_count__,
    SUM(CASE WHEN delta.qty IS NOT NULL THEN delta.__ivm_count__ ELSE 0 END) AS __ivm_nonnull_1__,
    SUM(CAST(delta.qty AS BIGINT) * delta.__ivm_count__) AS qty,
    SUM(CASE WHEN delta.total IS NOT NULL THEN delta.__ivm_count__ ELSE 0 END) AS __ivm_nonnull_2__,
    SUM(delta.total * CAST(delta.__ivm_count__ AS INT)) AS __ivm_sum_2__
  FROM delta
  GROUP BY
    delta.nation
) AS change
ON stored.nation IS NOT DISTINCT FROM change.nation
WHEN MATCHED THEN UPDATE SET
  __ivm_count__ = stored.__ivm_count__ + change.__ivm_count__,
  __ivm_nonnull_1__ = stored.__ivm_nonnull_1__ + change.__ivm_nonnull_1__,
  qty = CASE
    WHEN stored.__ivm_nonnull_1__ + change.__ivm_nonnull_1__ > 0
    THEN COALESCE(stored.qty, 0) + COALESCE(change.qty, 0)
  END,
  __ivm_nonnull_2__ = stored.__ivm_nonnull_2__ + change.__ivm_nonnull_2__,
  __ivm_sum_2__ = CASE
    WHEN stored.__ivm_nonnull_2__ + change.__ivm_nonnull_2__ > 0
    THEN COALESCE(stored.__ivm_sum_2__, 0) + COALESCE(change.__ivm_sum_2__, 0)
  END
WHEN NOT MATCHED THEN INSERT (nation, __ivm_count__, __ivm_nonnull_1__, qty, __ivm_nonnull_2__, __ivm_sum_2__) VALUES (
  change.nation,
  change.__ivm_count__,
  change.__ivm_nonnull_1__,
  CASE WHEN change.__ivm_nonnull_1__ > 0 THEN change.qty END,
  change.__ivm_nonnull_2__,
  CASE WHEN change.__ivm_nonnull_2__ > 0 THEN change.__ivm_sum_2__ END
)
