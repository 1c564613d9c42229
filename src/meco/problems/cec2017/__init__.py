"""CEC2017 constrained problems."""
