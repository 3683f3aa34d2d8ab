"""What people ask about refreshes: what the next one would do, what the last ones did."""
