"""Reference kit: what release 0.3.0 does, recorded for comparison with later versions. See README.md."""
