"""What is compared of a solved function: a bag of hashed operations, and a graph of them."""
