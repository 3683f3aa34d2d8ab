"""What a refresh commits, whichever strategy it takes; each module stands on the one before."""
