"""Training: which functions form a batch, what is minimised, and the run that a YAML file describes."""
