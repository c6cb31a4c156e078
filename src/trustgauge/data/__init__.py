"""Shipped data that several methods use: attributes, word lists, groups; each file has a data card."""
