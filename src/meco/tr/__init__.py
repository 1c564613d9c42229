"""The default method: quadratic models in a relaxed trust region."""
