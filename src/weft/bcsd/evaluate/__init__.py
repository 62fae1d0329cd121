"""Retrieval across compilers, levels and architectures, beside the baselines."""
