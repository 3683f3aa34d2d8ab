"""From Spark SQL text to a syntax tree.

``parser`` reads a model, ``views`` puts the queries of its views into it. ``dialect`` is what Spark
reads otherwise than sqlglot, ``pipe_syntax`` its ``|>``. ``trees`` has the questions that all later
steps ask of trees.
"""
