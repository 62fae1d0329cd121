"""Which libraries a program was linked from, in which versions, and what of it no library explains."""
