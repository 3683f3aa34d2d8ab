"""What becomes of a state and its public view: whose they are, what stands, what is left."""
