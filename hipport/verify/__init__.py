"""Cases, references and tolerances for numerical checks."""
