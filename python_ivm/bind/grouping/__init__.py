"""GROUP BY, grouping sets, HAVING and ORDER BY: the clauses over groups."""
