"""libclang facts keyed by span."""
