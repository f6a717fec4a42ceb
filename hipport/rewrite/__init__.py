"""Edits, conflicts and the fixpoint: translate as a pure function."""
