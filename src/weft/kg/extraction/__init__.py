"""From a corpus to a store: what reads documents, and what commits them."""
