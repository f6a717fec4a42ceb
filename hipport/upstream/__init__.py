"""Fetch and pin upstream CUDA sources."""
