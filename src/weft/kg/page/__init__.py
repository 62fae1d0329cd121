"""A neighbourhood of the graph as one HTML file that needs nothing else."""
