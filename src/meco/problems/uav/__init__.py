"""Sixteen UAV missions."""
