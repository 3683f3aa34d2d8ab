"""Names, values and texts that would change a statement if they were written as they are."""
