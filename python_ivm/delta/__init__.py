"""How a change of an operator's inputs changes its output: one module an operator."""
