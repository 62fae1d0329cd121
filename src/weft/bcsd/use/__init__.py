"""What a trained model is used for: embeddings, scores, and what is built on them."""
