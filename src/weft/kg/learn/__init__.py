"""From a data set of code or of text to a model: what a training is, and how its settings say it."""
