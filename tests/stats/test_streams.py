"""Random streams depend on seed and purpose only."""

from __future__ import annotations

from trustgauge.stats import stream


def test_equal_names_give_equal_draws_whatever_was_drawn_before() -> None:
    stream(1, "other").random(1000)
    assert stream(1, "design", 0).random(5).tolist() == stream(1, "design", 0).random(5).tolist()


def test_every_part_of_the_name_counts() -> None:
    names: list[tuple[str | int, ...]] = [("a", 0), ("b", 0), ("a", 1), ("a",), ("a0",), ("a", "0", "")]
    drawn = {stream(seed, *purpose).random() for seed in (1, 2) for purpose in names}
    assert len(drawn) == 2 * len(names)
