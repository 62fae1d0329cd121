"""``weft absa``: what texts feel about aspects of targets."""
