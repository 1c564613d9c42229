"""Engines that model the functions they minimise."""
