"""Loop programs: bindings of a WITH RECURSIVE that feed on each other, round by round."""
