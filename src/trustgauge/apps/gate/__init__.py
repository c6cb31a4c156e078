"""Passes or fails a rating or an evaluation, and says so when the evidence cannot tell."""
