"""What a run or a command reads at once of many tables, instead of asking for each."""
