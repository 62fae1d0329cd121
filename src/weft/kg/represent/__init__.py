"""A data set as tensors: chunks, triples, batches, and what training hides."""
