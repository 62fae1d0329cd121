"""What differs from one instruction set to the next."""
