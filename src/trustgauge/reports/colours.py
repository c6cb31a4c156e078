"""The colour tokens of reports, and the contrast between two of them.

Levels run blue, amber, crimson; groups never use level colours. Every token has a light and a
dark value; pages choose by style sheet, labels and badges are always light.
"""

from __future__ import annotations

TOKENS: dict[str, tuple[str, str]] = {
    "page": ("#fbfbf9", "#14161a"),
    "card": ("#ffffff", "#1b1e24"),
    "soft": ("#f2f2ee", "#23272f"),
    "line": ("#e3e4e0", "#30343d"),
    "edge": ("#767d89", "#7d8591"),  # borders of controls: 3 : 1 on page and card
    "ink": ("#1b1f27", "#e9eaec"),
    "second": ("#5a6270", "#a3a9b4"),
    "l1": ("#1f6fb2", "#5aa9e6"),
    "l2": ("#e0a100", "#f0b429"),
    "l3": ("#a3162e", "#f0667f"),
    "on1": ("#ffffff", "#14161a"),  # text on a solid pill of the level
    "on2": ("#1b1f27", "#14161a"),
    "on3": ("#ffffff", "#14161a"),
    "t1": ("#1f6fb2", "#5aa9e6"),  # thin marks and words in the colour of the level
    "t2": ("#8a5d00", "#f0b429"),
    "t3": ("#a3162e", "#f0667f"),
    "s1": ("#c6daea", "#1d3a52"),  # pale ground of a level
    "s2": ("#f7e7bf", "#4a3a12"),
    "s3": ("#f9e6e9", "#4a1f2a"),
    "g1": ("#1d7874", "#2f9d97"),
    "g2": ("#c3b1ea", "#cfc0f2"),
    "g3": ("#54408c", "#8f7fd0"),
    "g4": ("#a5d6d2", "#9bd8d3"),
    "og1": ("#ffffff", "#14161a"),
    "og2": ("#1b1f27", "#14161a"),
    "og3": ("#ffffff", "#14161a"),
    "og4": ("#1b1f27", "#14161a"),
    "other": ("#d9dad6", "#4a4e57"),
    "oother": ("#1b1f27", "#ffffff"),
    "hatch": ("#c3c5bf", "#5b606b"),
}

LIGHT = {name: pair[0] for name, pair in TOKENS.items()}
DARK = {name: pair[1] for name, pair in TOKENS.items()}

PALE = {"l1": "#c6daea", "l2": "#f7e7bf", "l3": "#e8c3ca", "grey": "#e2e3e6"}
"""Grounds of the levels a label does not mark."""


def step(position: int, count: int) -> int:
    """Which of the three level colours the level at `position` (0 is best) of `count` takes: 1, 2, 3."""
    if position <= 0:
        return 1
    return 3 if position >= count - 1 else 2


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` (WCAG 2.2, definition of relative luminance)."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, 1.4.3)."""
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def style_tokens(values: dict[str, str]) -> str:
    """The tokens as custom properties of a style sheet."""
    return "".join(f"--{name}:{value};" for name, value in values.items())
