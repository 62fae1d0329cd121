"""Benchmarks of graphs: chains, a store, what a tree states, types that were taken away."""
