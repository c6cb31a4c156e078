"""Judges read from an answer what it says: affirms, chooses, explains, declines (social-bias 3.5, 3.6)."""

from trustgauge.methods.social_bias.judges.dispatch import judge

__all__ = ["judge"]
