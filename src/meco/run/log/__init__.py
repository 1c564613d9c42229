"""Every call of a run, in memory and on disk."""
