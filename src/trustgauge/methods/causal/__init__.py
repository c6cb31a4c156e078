"""Causal rating of sentiment systems (methods 2)."""
