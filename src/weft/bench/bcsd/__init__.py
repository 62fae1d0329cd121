"""Benchmarks of the index, the matching and the model of functions."""
