"""Documents, seed triples and published corpora, each from its own format."""
