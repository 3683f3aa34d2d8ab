"""What is stored for a model, how one MERGE maintains it, and the view that shows it."""
