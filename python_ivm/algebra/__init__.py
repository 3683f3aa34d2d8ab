"""The logical plan: relational operators over bags, each with a schema."""
