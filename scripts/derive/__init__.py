"""Derivation of the CUDA to HIP rename tables from both vendors' headers.

`declarations` reads headers with libclang, `families` says which headers belong together, `pairing` finds the HIP name
of a CUDA name, `comparison` checks the pair, `tables` assembles the rows and `rows` reads and writes them. What headers
cannot tell lies in ``exceptions/``, one sourced row per name, in files named like the tables.
"""
