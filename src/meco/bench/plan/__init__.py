"""What is to be run: the paper's protocols and comparisons of one's own, as data."""
