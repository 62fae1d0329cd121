"""Static libraries of Debian packages: fetched, unpacked, and put into an index with their names and versions."""
