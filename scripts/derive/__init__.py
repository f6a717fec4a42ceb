"""Derivation of the CUDA to HIP rename tables from both vendors' headers.

`declarations` reads headers with libclang, `families` says which headers belong together, `pairing` finds the HIP name of
a CUDA name, `comparison` checks the pair, `tables` assembles and writes the rows. What headers cannot tell lies in
``exceptions/*.tsv``, one sourced row per name.
"""
