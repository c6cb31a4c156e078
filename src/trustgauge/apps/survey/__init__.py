"""Surveys of what matters to people."""
