"""Work that takes long: accepted once it is on the disk, done once, kept for a while; it survives a restart."""
