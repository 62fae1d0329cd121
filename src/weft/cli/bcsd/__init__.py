"""``weft bcsd``: which function of one binary is which function of another."""
