"""Names that are not in a binary but in a file that belongs to it: ``elf``, ``pdb`` (Windows), ``dsym`` (Apple)."""
