"""Source trees in, chunks with facts out: the data set on disk."""
