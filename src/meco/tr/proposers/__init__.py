"""What makes the points of an iteration out of its models."""
