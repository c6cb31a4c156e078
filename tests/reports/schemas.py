"""What the owners of standards say a document must be, read from `schemas/`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema.validators import validator_for
from lxml import etree

FOLDER = Path(__file__).parent / "schemas"


@cache
def _json_schema(name: str) -> Any:
    text = (FOLDER / name).read_text("utf-8")
    schema = json.loads(text) if name.endswith(".json") else yaml.safe_load(text)
    return validator_for(schema)(schema)


@cache
def _xml_schema(name: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(FOLDER / name))


def is_sarif(data: bytes | str) -> Any:
    """The document, which its standard takes; else an error of the validator."""
    return _checked("sarif-2.1.0-rtm.5.json", data)


def is_overlay(data: bytes) -> Any:
    return _checked("openapi-overlay-1.0.yaml", data)


def is_every_eval_ever(data: bytes) -> Any:
    return _checked("every-eval-ever-0.3.0.json", data)


def is_junit(data: bytes | str) -> None:
    """Nothing, if the viewers' schema takes it; else an error of the validator."""
    _xml_schema("junit-10.xsd").assertValid(
        etree.fromstring(data.encode() if isinstance(data, str) else data)
    )


@cache
def terms_of_earl() -> frozenset[str]:
    """Every class, property and individual that EARL's vocabulary defines."""
    lines = (FOLDER / "earl-1.0.nq").read_text("utf-8").splitlines()
    return frozenset(line.partition(" ")[0].strip("<>") for line in lines)


def _checked(schema: str, data: bytes | str) -> Any:
    document = json.loads(data)
    _json_schema(schema).validate(document)
    return document
