"""Whether a document has the shape that its schema says: what a view may rely on.

Only what our own published schemas use of JSON Schema is known. What is more than the schema names is
passed over, and of a choice only the kind counts: a later version may write more, and no view is harmed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KINDS: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def misfit(value: Any, schema: Mapping[str, Any]) -> str:
    """The first place at which a document does not fit, with what is wrong there; "" if it fits.

    Args:
        value: the document, as JSON is read.
        schema: a JSON Schema (2020-12) of the words `type`, `const`, `enum`, `properties`, `required`,
            `additionalProperties`, `items`, `oneOf` and `$ref` to its own `$defs`; others are passed over.

    >>> misfit({"run": {"id": 7}}, {"properties": {"run": {"properties": {"id": {"type": "string"}}}}})
    'run.id is no string'
    """
    return _misfit(value, schema, schema, "")


def _misfit(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], place: str) -> str:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    here = place or "the document"
    if "oneOf" in schema:
        found = [_misfit(value, one, root, place) for one in schema["oneOf"]]
        return "" if "" in found else found[-1]
    kinds = schema.get("type")
    if kinds is not None:
        names = [kinds] if isinstance(kinds, str) else kinds
        if not any(_is(value, name) for name in names):
            return f"{here} is no {' or '.join(names)}"
    if "const" in schema and value != schema["const"]:
        return f"{here} is not {schema['const']}"
    if "enum" in schema and type(value) not in {type(one) for one in schema["enum"]}:
        return f"{here} is none of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, dict):
        return _misfit_in_object(value, schema, root, place)
    if isinstance(value, list) and "items" in schema:
        inside = (_misfit(one, schema["items"], root, f"{place}[{at}]") for at, one in enumerate(value))
        return next(filter(None, inside), "")
    return ""


def _misfit_in_object(
    value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], place: str
) -> str:
    missing = next((name for name in schema.get("required", ()) if name not in value), None)
    if missing is not None:
        return f"{place or 'the document'} has no {missing}"
    known = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for name, inner in value.items():
        expected = known.get(name, others if isinstance(others, dict) else None)
        if expected is not None:
            found = _misfit(inner, expected, root, f"{place}.{name}".lstrip("."))
            if found:
                return found
    return ""


def _is(value: Any, name: str) -> bool:
    """Whether a value is of a kind; a truth value is no number."""
    return isinstance(value, KINDS[name]) and (name == "boolean" or not isinstance(value, bool))
