"""The published tables of the papers, recomputed."""
