"""Reports for people, made from a manifest: Markdown for a pull request."""

from hipport.report.markdown import render_markdown

__all__ = ["render_markdown"]
