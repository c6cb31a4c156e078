"""Control services with known behaviour, asked beside every target (methods 0.9)."""
