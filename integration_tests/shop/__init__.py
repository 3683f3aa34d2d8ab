"""A shop of which 30 days go by: its data, and what each day costs."""
