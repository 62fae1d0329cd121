"""Why two functions score as they do: which blocks, instructions and tokens carry it, and where the prefix is read."""
