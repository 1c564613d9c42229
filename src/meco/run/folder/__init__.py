"""The folder of a run: what it keeps, and how an interrupted run goes on."""
