"""Finding the entities of a text that nobody prepared: mentions by tagging, entities by joining mentions."""
