"""What the warehouse tells of tables: asked once, at one version of each."""
