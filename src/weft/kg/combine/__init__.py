"""An optional step of extraction: an LLM behind an endpoint combines likely tokens into a tail."""
