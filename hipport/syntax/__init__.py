"""tree-sitter trees, macro bodies, token scans and the PTX grammar."""
