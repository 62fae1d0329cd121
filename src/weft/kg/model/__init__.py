"""The leafy chain model: its parts, its training, and how it answers."""
