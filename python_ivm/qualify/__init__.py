"""From a syntax tree to one in which every name is resolved and every shorthand is written out."""
