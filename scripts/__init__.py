"""What the Makefile runs for a release: packages and pictures."""
