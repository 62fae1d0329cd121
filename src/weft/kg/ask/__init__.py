"""Questions in words, answered from a store."""
