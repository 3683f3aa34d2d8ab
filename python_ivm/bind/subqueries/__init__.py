"""Subqueries, decorrelated: Neumann and Kemper, *Unnesting Arbitrary Queries*, BTW 2015."""
