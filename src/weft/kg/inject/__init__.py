"""Which seed triples each chunk is given: the published injection algorithm, one function a step."""
