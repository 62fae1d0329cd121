"""Which words made the answer, whether that is true, and how it looks."""
