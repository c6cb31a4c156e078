"""Answers to put into stores, and a Python process of its own that writes them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from trustgauge.records import Answer, digest

SERVICE = "5e" * 16


def answer(number: int = 0, **changes: Any) -> Answer:
    """An answer that follows from a number."""
    text = f"text {number}"
    facts = {
        "fingerprint": SERVICE,
        "message": digest("message", text),
        "draw": 0,
        "text": text,
        "status": "answered",
        "output": f"output {number}",
        "at": "2026-11-22T12:00:00.000Z",
    }
    return Answer(**{**facts, **changes})


def python(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Run a script in a process of its own, with its output to be read line by line."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,  # open until the test lets go, whatever the tests themselves were given
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
