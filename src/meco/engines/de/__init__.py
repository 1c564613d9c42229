"""Differential evolution and its published variants."""
