"""Search engines: they propose candidates and learn from an order."""
