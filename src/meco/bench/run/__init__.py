"""Campaigns: runs in parallel, resumed after any end, kept in a store."""
