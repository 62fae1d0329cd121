"""What is handed over: one HTML page that needs nothing but itself, and rename scripts."""
