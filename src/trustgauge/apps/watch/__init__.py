"""Monitoring: re-rate on a schedule or from a growing log, and report changed levels."""
