"""Where the user's function is called, here or elsewhere, and how its answers are read."""
