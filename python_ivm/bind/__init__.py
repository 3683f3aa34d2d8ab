"""From a qualified tree to the logical plan, one clause after the other.

``binder`` is the way in: :func:`~python_ivm.bind.binder.bind` gives a
:class:`~python_ivm.bind.query.Query`. It binds relations of FROM, CTEs and set operations.
``select`` binds one SELECT, and calls the rules for its clauses: ``from_clause``, ``grouping``,
``windows``, ``subqueries``, ``projection``. What a rule uses of its surroundings stands in
``scope``: rules import that, and neither ``select`` nor ``binder``.

Of the folders ``windows`` stands lowest, then ``grouping``, then ``subqueries``.
"""
