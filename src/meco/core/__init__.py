"""Contracts: what an engine must do, what it may offer, who evaluates, and the loop that joins them."""
