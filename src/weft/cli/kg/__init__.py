"""``weft kg``: knowledge graphs from text and code."""
