"""A function becomes tokens: one row of five slots per instruction, from one fixed vocabulary."""

from weft.bcsd.represent.normalise import NORMALISER_VERSION, SLOTS, Normaliser, token_digest
from weft.bcsd.represent.vocabulary import Vocabulary, load_vocabulary

__all__ = ["NORMALISER_VERSION", "SLOTS", "Normaliser", "Vocabulary", "load_vocabulary", "token_digest"]
