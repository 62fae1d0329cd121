"""Checkpoints in and out: Hugging Face BERT and RoBERTa, and models of weft; no pickles."""
