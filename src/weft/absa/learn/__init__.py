"""From labelled sentences to a model: augmentation, loss, training runs."""
