"""The tables that the authors of suites publish: where they lie on this machine, and how they get there."""
