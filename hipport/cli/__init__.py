"""The hipport command line: a thin layer over hipport.pipeline."""
