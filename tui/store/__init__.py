"""What lasts: the database, slot files and their manifests."""
