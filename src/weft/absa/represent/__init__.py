"""Texts and questions as tensors, and the vocabulary that they are written in."""
