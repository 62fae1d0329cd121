"""Whether what is asked for is in an index at all: how sure its best hit is, and how sure that it is not there."""
