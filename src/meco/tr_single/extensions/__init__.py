"""Optional behaviour of the trust-region search, one extension per module."""
