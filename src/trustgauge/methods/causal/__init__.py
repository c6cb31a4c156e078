"""Causal rating of sentiment systems (docs/methods/causal.md)."""
