"""Facts that must agree with each other, and names that must say what they stand for."""
