"""The wave linter: what in CUDA or HIP sources depends on the size of a warp, with a verdict and its reason."""

from hipport.lint.baseline import new_findings, write_baseline
from hipport.lint.finding import Finding, Step, Verdict
from hipport.lint.run import SUFFIXES, Report, lint

__all__ = ["SUFFIXES", "Finding", "Report", "Step", "Verdict", "lint", "new_findings", "write_baseline"]
