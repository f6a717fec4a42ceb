"""Load, check and match the data under rules/."""
