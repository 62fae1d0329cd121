"""From scores to one-to-one pairs: seen → evidence → assign → inlined → pairing."""
