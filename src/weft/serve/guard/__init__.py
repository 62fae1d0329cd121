"""What stands before every route: who may, how much, how fast, and what is written down."""
