"""Find or install the AMD toolchain."""
