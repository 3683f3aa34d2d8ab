"""What several passes ask of a plan: where columns come from, what is read, which files hold it."""
