from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from trustgauge.reports.svg import DARK, LIGHT, contrast, step

SCHEMES = [pytest.param(LIGHT, id="light"), pytest.param(DARK, id="dark")]

# Colour vision without one kind of cone, full strength (Machado, Oliveira and Fernandes 2009, table 1).
VISION = {
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def test_contrast_of_black_and_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#777777") == 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_can_be_read(scheme: dict[str, str]) -> None:
    for ground in ("page", "card", "soft"):
        for ink in ("ink", "second", "t1", "t2", "t3"):
            assert contrast(scheme[ink], scheme[ground]) >= 4.5, (ink, ground)
    for number in (1, 2, 3):
        assert contrast(scheme[f"on{number}"], scheme[f"l{number}"]) >= 5.25
        assert contrast(scheme["ink"], scheme[f"s{number}"]) >= 4.5
    for number in (1, 2, 3, 4):
        assert contrast(scheme[f"og{number}"], scheme[f"g{number}"]) >= 4.5
    assert contrast(scheme["oother"], scheme["other"]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
def test_controls_and_marks_can_be_seen(scheme: dict[str, str]) -> None:
    for mark in ("edge", "t1", "t2", "t3"):
        assert contrast(scheme[mark], scheme["card"]) >= 3


def _lab(colour: str, matrix: list[list[float]]) -> np.ndarray:
    raw = np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    linear = np.where(raw <= 0.04045, raw / 12.92, ((raw + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(matrix) @ linear, 0, 1)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    ratio = to_xyz @ seen / np.array([0.95047, 1.0, 1.08883])
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", sorted(VISION))
@pytest.mark.parametrize("scheme", SCHEMES)
def test_levels_differ_for_every_kind_of_colour_vision(scheme: dict[str, str], kind: str) -> None:
    for first, second in combinations(("l1", "l2", "l3"), 2):
        distance = np.linalg.norm(_lab(scheme[first], VISION[kind]) - _lab(scheme[second], VISION[kind]))
        assert distance > 30, (first, second)


def test_groups_never_use_level_colours() -> None:
    for scheme in (LIGHT, DARK):
        assert not {scheme[f"g{n}"] for n in (1, 2, 3, 4)} & {scheme[f"l{n}"] for n in (1, 2, 3)}


def test_step_puts_the_best_first_and_the_worst_last() -> None:
    assert [step(position, 3) for position in range(3)] == [1, 2, 3]
    assert [step(position, 5) for position in range(5)] == [1, 2, 2, 2, 3]
    assert [step(position, 2) for position in range(2)] == [1, 3]
