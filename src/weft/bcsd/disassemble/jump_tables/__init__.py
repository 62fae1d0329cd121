"""Jump tables: where they stand, how long they are, and which indirect jumps have none."""
