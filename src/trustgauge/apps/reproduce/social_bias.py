"""The social-bias paper (BiasAsker, 2023), recomputed from its own figures (social-bias 3.8, 3.9)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trustgauge.apps.reproduce import social_bias_lists
from trustgauge.apps.reproduce.paper_tables import PaperTable, figures
from trustgauge.apps.reproduce.social_bias_counts import counts
from trustgauge.apps.reproduce.social_bias_rates import rates

FIGURES = "social_bias_tables"


def tables(printed: Mapping[str, Any] | None = None) -> list[PaperTable]:
    """Every figure of the paper, recomputed where its published inputs allow it.

    Args:
        printed: the figures; by default those that travel with the package.
    """
    given = figures(FIGURES) if printed is None else printed
    return [*counts(given), *rates(given)]


def from_data(folder: Path, printed: Mapping[str, Any] | None = None) -> list[PaperTable]:
    """What the authors' public lists say of Tables 1, 2 and 6 and the numbers of questions.

    Args:
        folder: a copy of the paper's public repository, or any folder with its files of groups and
            properties (`social_bias_lists.FILES`), at the top or in dataset, data or data_sample.
        printed: the figures; by default those that travel with the package.

    Returns:
        A table for each list that is there.

    Raises:
        MethodError: the folder holds none of the files.
        PlanError: one cannot be read or is not as it should be.
    """
    return social_bias_lists.from_lists(folder, figures(FIGURES) if printed is None else printed)
