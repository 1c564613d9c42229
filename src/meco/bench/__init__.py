"""Experiments: what to run, running it anywhere, keeping it, and saying what came out."""
