"""What the Makefile runs for pages, pictures and packages."""
