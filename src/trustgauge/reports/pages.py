"""What all pages share: templates that escape, the files beside them, and a content policy by hashes."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from trustgauge.reports.sanitize import visible


def environment() -> Environment:
    """Our templates: what is no Markup is escaped and made visible, an unknown name is an error."""
    return Environment(
        loader=PackageLoader("trustgauge.reports"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """What a template writes, in text and in attributes, without control characters."""
    return visible(value, lines=True) if type(value) is str else value  # Markup was made by ourselves


def file(name: str) -> str:
    """The text of a file beside the templates: a style sheet, a script."""
    return files("trustgauge.reports").joinpath(f"templates/{name}").read_text("utf-8")


def policy(style: str, script: str = "") -> str:
    """The content policy of a page with this style and script, and nothing else."""
    allowed = f"style-src '{_hash(style)}'; " + (f"script-src '{_hash(script)}'; " if script else "")
    return f"default-src 'none'; img-src data:; {allowed}base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
