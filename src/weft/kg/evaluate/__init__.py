"""What is asked of held-out modules, how answers are scored, and what must be beaten."""
