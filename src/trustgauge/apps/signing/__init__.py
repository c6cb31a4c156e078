"""Locking plans, signing ratings, and proving single answers."""
