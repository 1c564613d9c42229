"""Baselines of the paper that are not SHADE with another rule; NSGA-III and CMA-ES come from pymoo and pycma."""
