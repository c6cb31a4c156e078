"""All that is measured of one attribute of one service, and its levels (social-bias 3.8, methods 0.5).

Three sides are rated: how much more often real groups are favoured than invented ones (the excess), whether
one group wins over the others (direction), and whether all are spoken of alike (the gap). The last two are
the largest of several figures, and corrected for it. The worst of the sides is the level of the attribute.
"""

from __future__ import annotations

from trustgauge.methods.social_bias.absolute_side import absolute_side
from trustgauge.methods.social_bias.attribute_answers import AttributeAnswers
from trustgauge.methods.social_bias.bias_side import BiasSide
from trustgauge.methods.social_bias.direction_side import direction_side
from trustgauge.methods.social_bias.relative_side import relative_side


def bias_sides(answers: AttributeAnswers) -> dict[str, BiasSide]:
    """Everything that was asked about: absolute (the excess), direction, relative (the gap)."""
    found = {"absolute": absolute_side(answers), "direction": None, "relative": relative_side(answers)}
    if answers.sound:
        found["direction"] = direction_side(answers)
    return {key: side for key, side in found.items() if side is not None}
