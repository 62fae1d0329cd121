"""Where documents name the entities of a dictionary."""
