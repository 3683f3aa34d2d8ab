"""What is wrong on this machine, said so that a reader can mend it."""
