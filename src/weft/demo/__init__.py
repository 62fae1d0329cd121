"""What `weft demo` shows, one file for each part."""
