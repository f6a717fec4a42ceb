"""Reports for people and tools, made from records."""
