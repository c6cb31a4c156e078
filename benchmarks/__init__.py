"""What the claims of speed and of validity come from: each figure in the docs is a command here."""
