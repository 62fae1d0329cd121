"""What a text judges, found without being asked: terms, their categories, polarity, the words that judge."""
