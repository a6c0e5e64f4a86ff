"""Measurements: what the bus does per second, what a call costs, and where the time of a claim goes."""
