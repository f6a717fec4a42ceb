"""``python -m hipport``."""

from hipport.cli.main import main

main()
