"""What worker processes do: each task makes of a request the bytes that answer it."""
