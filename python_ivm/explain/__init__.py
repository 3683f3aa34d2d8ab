"""How a model is maintained, in words, as plans and as SQL."""
