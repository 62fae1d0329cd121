"""The five models, each a visible assembly of encoder, conditioning and head."""
