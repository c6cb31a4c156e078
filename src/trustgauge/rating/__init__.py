"""What every method shares between its part results and its ratings; it knows no method by name."""
