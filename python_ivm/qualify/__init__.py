"""From a syntax tree to one in which every name is resolved and every shorthand is written out.

``qualify`` puts the steps in order: one module for each shorthand (pivots, stars, time windows,
generators, ordinals …), and sqlglot's own name resolution between them. ``checks`` refuses queries
whose result does not follow from their sources.
"""
