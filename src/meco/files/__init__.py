"""Files: written whole, read by their claims, locked while in use."""
