"""Two-step (Srivastava and Rossi, AIES 2018): unbiased input, then biased input."""
