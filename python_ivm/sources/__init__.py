"""What happened to a source between two of its versions."""
