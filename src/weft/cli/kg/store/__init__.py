"""What is asked of a store of facts, and done to it."""
