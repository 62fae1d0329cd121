"""The index of embedded functions: one table on disk, one writer at a time, every commit whole or absent."""
