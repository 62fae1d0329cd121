"""weft: structure woven into the attention of BERT-family encoders."""

__version__ = "0.1.0"
