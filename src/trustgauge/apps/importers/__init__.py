"""Reads chat logs and results of other evaluation tools."""
