"""Fetch pinned upstream sources: find the sdist, check its hash, unpack the listed paths safely.

Nothing of a source's own code is run.
"""

from hipport.upstream.pins import Pin, read_pins
from hipport.upstream.sync import SyncResult, add, sync

__all__ = ["Pin", "SyncResult", "add", "read_pins", "sync"]
