"""The result of a run: the answer, its multipliers and prices, minima, and what noise leaves sure."""
