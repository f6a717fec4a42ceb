"""Rules that are programs. Each module holds functions that rule files name as ``transform = "module:function"``."""
