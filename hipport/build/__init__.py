"""Compile plans, parallel execution, resource usage, error mapping."""
