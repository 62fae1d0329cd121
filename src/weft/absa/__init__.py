"""Targeted aspect sentiment: what does this text feel about that aspect of this target?

read (sentihood, semeval, labelled, table) → represent → model → use (asker, explain) → evaluate.
"""
