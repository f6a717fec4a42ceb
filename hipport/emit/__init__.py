"""Output trees: the manifest, whole-tree writes, the pristine cache, hand edits.

`manifest` is the record that every later stage reads; `transaction` writes a tree or leaves it alone; `pristine` keeps
what the translator produced before hand edits; `patches` and `merge` carry hand edits from one translation to the next;
`planning` decides per file what happens.
"""
