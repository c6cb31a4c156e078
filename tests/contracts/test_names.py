"""Names of the public classes and functions: nouns and verbs, and no class name twice."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import trustgauge

SOURCE = Path(trustgauge.__file__).parent
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
IRREGULAR = re.compile(
    "told|said|held|kept|found|given|made|taken|seen|drawn|hidden|written|spoken|sent|shown|known|met|lost|built|"
    "meant|heard|thought|done|gone|chosen|begun|grown|laid|lent|paid|sold|spent|stood"
)
TERMS = {
    "compare_unprinted", "judge_unprinted", "drop_printed",  # a verb, and what it is about
}  # fmt: skip


@cache
def public_names() -> Sequence[tuple[str, str, Sequence[str] | None]]:
    """Module, name, and of a class its public methods, of everything public at the top of a module.

    Properties are no methods here: they may be adjectives.
    """
    return [
        (str(file.relative_to(SOURCE)), node.name, _methods(node) if isinstance(node, ast.ClassDef) else None)
        for file in sorted(SOURCE.rglob("*.py"))
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef | FUNCTIONS) and not node.name.startswith("_")
    ]


def _methods(holder: ast.ClassDef) -> Sequence[str]:
    return [
        node.name
        for node in holder.body
        if isinstance(node, FUNCTIONS) and not node.name.startswith("_")
        if not any("property" in ast.unparse(one) for one in node.decorator_list)
    ]


PUBLISHED = {
    "named",  # of services, which plug-ins override
    "connection_made", "connection_lost", "data_received",  # asyncio's
    "not_found", "not_allowed", "mark_reported",  # a negation and a verb
    "default_unbiased", "default_biased", "key_agreed",  # adjectives of what is given
}  # fmt: skip


def public_methods() -> Iterator[tuple[str, str]]:
    """Class and name of every public method."""
    for _, holder, methods in public_names():
        yield from ((holder, name) for name in methods or ())


def is_participle(name: str) -> bool:
    """Whether the last word of a name is a participle: `told`, `rows_held`, `Judged`."""
    last = re.findall(r"[A-Z]?[a-z]+", name)[-1:] or [""]
    word = last[0].lower()
    return bool(IRREGULAR.fullmatch(word)) or (
        len(word) > 4 and word.endswith("ed") and word not in {"seed", "speed", "embed", "squared"}
    )


def test_participles_are_recognised() -> None:
    assert [
        name
        for name in ("told", "rows_held", "Judged", "seed", "Judge", "labelled_answers")
        if is_participle(name)
    ] == [
        "told",
        "rows_held",
        "Judged",
    ]


def test_no_public_name_is_a_participle() -> None:
    wrong = [
        f"{module}: {name}"
        for module, name, _ in public_names()
        if is_participle(name) and not name.startswith("is_") and name not in TERMS
    ]
    assert wrong == []


def test_no_public_method_is_a_participle() -> None:
    wrong = {(holder, name) for holder, name in public_methods() if is_participle(name)}
    assert {one for one in wrong if one[1] not in PUBLISHED and not one[1].startswith("is_")} == set()


def test_no_two_classes_have_one_name() -> None:
    modules = defaultdict(list)
    for module, name, methods in public_names():
        if methods is not None:
            modules[name].append(module)
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
