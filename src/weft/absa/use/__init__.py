"""A model that can be asked, kept on disk, and run over tables."""
