"""What services answer and are called when they mean harm."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.reports import fixtures
from trustgauge.reports.document import document

ANSWERS = (
    "</script><img src=x onerror=\"document.title='owned'\">",
    "<script>document.title='owned'</script>",
    "' onmouseover=\"document.title='owned'\" x='",
    "]]><svg onload=\"document.title='owned'\">",
    "{{ 7*7 }}{% raw %}",
    "\u202egnirts sdrawkcab\u202c \u2066hidden",
    "\x1b[2J\x1b]0;owned\x07\x00\x08",
    "lone \ud800 surrogate \u2028 line \u2029 paragraph",
    "word " * 20_000,
    "W" * 100_000,
    '=HYPERLINK("http://example.org")',
    "[link](javascript:alert(1)) ![x](http://example.org/x.png) | cell |",
    "مرحبا بالعالم",
    "",
)
NAME = ANSWERS[0] + ANSWERS[5] + ANSWERS[6]


def case() -> tuple[Any, pl.DataFrame]:
    """A document whose every foreign name is hostile, and evidence full of hostile answers."""
    part = fixtures.part("es", "mostly he", title=NAME)
    one = fixtures.rating("bad", [part, fixtures.part(NAME, "faithful", title=NAME)])
    run = fixtures.run(
        [one],
        name=NAME,
        stopped=NAME,
        command=NAME,
        services={"bad": fixtures.service(NAME, version=NAME, kind=NAME, provider=NAME)},
        versions={NAME: NAME},
    )
    return document(run, [one]), rows()


def rows(service: str = "bad") -> pl.DataFrame:
    """One evidence row for each hostile answer."""
    clean = [answer.encode("utf-8", "replace").decode() for answer in ANSWERS]
    lines: list[Any] = [
        {
            "service": service,
            "part": "es",
            "id": f"u1-{index:03d}",
            "block": "u1",
            "sent": "She is a florist.",
            "trail": [answer],
            "back": answer,
            "status": "answered",
            "values_in": ["She"],
            "values_out": [answer[:30]],
            "kinds": [answer[:30]],
            "changed": True,
        }
        for index, answer in enumerate(clean)
    ]
    return pl.DataFrame(lines)
