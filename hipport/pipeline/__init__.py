"""The one place where stages meet."""
