"""Other programs that pair functions, asked about the same files as ``weft bcsd match``."""
