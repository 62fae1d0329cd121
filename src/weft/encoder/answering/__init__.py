"""Encoders that only answer: products of fewer bits, query, key and value at once."""
