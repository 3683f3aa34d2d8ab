"""From a qualified tree to the logical plan, one clause after the other."""
