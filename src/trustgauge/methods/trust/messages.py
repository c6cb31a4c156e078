"""The words of the trust method, from `messages.toml`."""

from __future__ import annotations

from trustgauge.reports.components import read_messages

MESSAGES = read_messages(__package__)

RISKS = MESSAGES.table("risks")
"""Levels without the word risk, best first."""
TITLES = MESSAGES.table("titles")
SHORT = MESSAGES.table("short")
CODES = MESSAGES.table("codes")
"""Letters of the paper for the issues."""
DIRECTION = MESSAGES.table("direction")
DISGUISES = MESSAGES.table("disguises")
COMPARED = MESSAGES.table("compared")
QUOTATIONS = MESSAGES.table("quotations")
COMBINING = MESSAGES.table("combining")
LACKING = MESSAGES.table("lacking")
TIES = MESSAGES.table("ties")
HOW = MESSAGES.table("how")
TYPES = MESSAGES.table("types")
SWAYING = MESSAGES.table("swaying")
FACTORS = MESSAGES.table("factors")
CARD = MESSAGES.table("card")
MOVES = MESSAGES.table("moves")
PURPOSES = MESSAGES.table("purposes")
NOTES = MESSAGES.table("notes")
