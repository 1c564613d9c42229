"""Reference results of release 0.3.0: stored tables, the reserve of problems, and the quality of TR."""
