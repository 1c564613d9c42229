"""What lies between a user's function and the search: reading its answers, calling it, keeping what it said."""
