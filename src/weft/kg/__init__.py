"""Knowledge graphs from code: read → represent → model → evaluate."""
