"""Word documents: the zip, its XML parts, and the walk over them."""
