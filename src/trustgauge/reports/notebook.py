"""Ratings in a notebook: label, table and details; no script, no ids."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment
from markupsafe import Markup

from trustgauge.reports import components, exports, label, sentences, terminal, views

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry, RunDocument


class RatingView:
    """A rating, or all ratings of a run, as a notebook shows them.

    Args:
        document: the content of `rating.json`.
        rows: the evidence, if it is at hand.
    """

    def __init__(self, document: RunDocument, rows: pl.DataFrame | None = None) -> None:
        self.document = document
        self._rows = rows

    def evidence(self) -> pl.DataFrame:
        """Every text sent and received, as a data frame.

        Raises:
            ValueError: the view was made without evidence.
        """
        if self._rows is None:
            raise ValueError("This view was made without evidence. Open the run's folder to get it.")
        return self._rows

    def parts(self) -> pl.DataFrame:
        """One row for each part of each rating."""
        return exports.parts_frame(self.document)

    def __repr__(self) -> str:
        return terminal.plain(terminal.result(self.document))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What Jupyter asks for: HTML, Markdown and plain text of the same content."""
        return {
            "text/html": html(self.document),
            "text/markdown": exports.markdown(self.document).decode(),
            "text/plain": repr(self),
        }


def html(document: RunDocument) -> str:
    """The view as HTML with one scoped class; readable where a host strips the styles."""
    content = {
        "run": document["run"],
        "ratings": document["ratings"],
        "anchors_line": sentences.controls(document["run"]["anchors"]),
        "limits": views.limits(document),
    }
    return _environment().get_template("notebook.html.j2").render(content)


def _small(rating: RatingEntry) -> Markup:
    """The label at 190 pixels; its text was escaped where it was written."""
    drawn = label.label(rating).replace('width="300" height="456"', 'width="190" height="289"', 1)
    return Markup(drawn)


@cache
def _environment() -> Environment:
    environment = components.environment()
    environment.filters |= {
        "cells": lambda part, rating: exports.part_words(part, rating)[1:],
        "heads": exports.part_heads,
        "label": _small,
        "noun": lambda rating: sentences.noun(rating, 1),
        "outcome": label.outcome,
        "service": label.service,
        "shown": lambda value: sentences.name(str(value)),
        "title": sentences.title,
        "verdict": sentences.verdict,
    }
    return environment
