"""What no maintained query may contain: results that do not follow from its sources alone."""
