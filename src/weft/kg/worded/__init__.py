"""Relations that training never saw, asked for by their words: read → compare with the trained ones → score → judge."""
