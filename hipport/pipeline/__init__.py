"""The one place where stages meet: read a tree, translate it, write it.

`run.translate_tree` is what ``hipport translate`` calls; `edits` keeps hand edits; `settings` reads ``hipport.toml``.
"""
