"""Two binaries: which function of one is which function of the other, how sure that is, and why."""
