"""A linear classifier of texts out of plain files: words and their letters, weighted, added up.

A text is cut into tokens; the features of a token are the token itself and the runs of 2 to 4 characters
of it between blanks. Feature f occurs c times in a text: its value is (1 + log c) * idf(f), the values of
a text are divided by their Euclidean length, and the probabilities of the classes are the softmax of a
linear function (TF-IDF and multinomial logistic regression). Training is elsewhere; this needs
numpy only, and no file of it runs code.
"""

from __future__ import annotations

import html
import io
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from trustgauge.data.tables import check_content
from trustgauge.errors import PlanError

CARD, FEATURES, WEIGHTS = "card.json", "features.json", "weights.npz"
SIZES = (2, 3, 4)  # characters of a run
CHUNK = 100_000  # characters that are weighed at once: bounds the memory, and the sums stay near
REMEMBERED, LONGEST_KEPT = 200_000, 40  # tokens whose features are kept, and their characters at most
RUN_OF = "\t"  # stands before a run, so that no run is taken for a token
PERSON, LINK = "\x02", "\x03"  # tokens of names of accounts and of links

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LINK = re.compile(r"(?:https?://|www\.)\S+")
_PERSON = re.compile(r"@\w+")
_RUN = re.compile(r"(.)\1{2,}")
_TOKEN = re.compile(r"\w+(?:['*@$]+\w+)*|[^\w\s]")


def tokens(text: str) -> list[str]:
    """Words and signs of a text in small letters.

    Links and names of accounts are one token each; signs of HTML are turned back.

    >>> tokens("No &amp; YES, it's"), tokens("@anna http://a.b") == [PERSON, LINK]
    (['no', '&', 'yes', ',', "it's"], True)
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    folded = (html.unescape(text) if "&" in text else text).lower()
    if "@" in folded:
        folded = _PERSON.sub(f" {PERSON} ", folded)
    if "://" in folded or "www." in folded:
        folded = _LINK.sub(f" {LINK} ", folded)
    return _TOKEN.findall(folded)


def features_of(token: str) -> list[str]:
    """The token, and the runs of its characters between blanks, those marked with a leading tab.

    Of three or more equal characters in a row two stay.

    >>> [one.replace(RUN_OF, "<") for one in features_of("ab")]
    ['ab', '< a', '<ab', '<b ', '< ab', '<ab ', '< ab ']
    """
    token = _RUN.sub(r"\1\1", token)
    padded = f" {token} "
    runs = [f"{RUN_OF}{padded[at : at + size]}" for size in SIZES for at in range(len(padded) - size + 1)]
    return [token, *runs]


def features(text: str) -> list[str]:
    """All features of a text, as often as they occur."""
    return [one for token in tokens(text) for one in features_of(token)]


@dataclass(frozen=True)
class TextModel:
    """A trained classifier.

    Attributes:
        classes: K names.
        features: V features.
        idf: weight of each feature, [V].
        weights: of the linear function, [K, V].
        intercepts: [K].
    """

    classes: tuple[str, ...]
    features: tuple[str, ...]
    idf: Floats
    weights: Floats
    intercepts: Floats
    _places: dict[str, int] = field(init=False, repr=False, compare=False)
    _kept: dict[str, Ints] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {name: place for place, name in enumerate(self.features)})

    def probabilities(self, texts: Sequence[str]) -> Floats:
        """Probabilities of the classes, [texts, K]; a text without known features has the intercepts'."""
        parts = [self._weighed(part) for part in _parts(texts)]
        if not parts:
            return np.empty((0, len(self.classes)))
        logits = np.concatenate(parts)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def classify(self, texts: Sequence[str]) -> list[str]:
        """The likeliest class of each text."""
        return [self.classes[place] for place in self.probabilities(texts).argmax(axis=1).tolist()]

    def _weighed(self, texts: Sequence[str]) -> Floats:
        """The linear function of each text, [texts, K]."""
        rows, ids = self._found(texts)
        keys = rows * len(self.features) + ids
        if len(texts) * len(self.features) < 2**31:
            keys = keys.astype(np.int32)  # sorted in half the time
        keys.sort()
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        times = np.diff(first, append=len(keys)).astype(np.float64)
        row, place = np.divmod(keys[first], max(1, len(self.features)))
        values = (1.0 + np.log(times)) * self.idf[place]
        length = np.sqrt(np.bincount(row, values * values, len(texts)))
        sums = [np.bincount(row, values * one[place], len(texts)) for one in self.weights]
        return np.stack(sums, axis=1) / np.where(length > 0, length, 1.0)[:, None] + self.intercepts

    def _found(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Row and feature of everything known in the texts, in step."""
        numbers: dict[str, int] = {}
        cut = [tokens(text) for text in texts]
        said = np.array([numbers.setdefault(one, len(numbers)) for part in cut for one in part], np.int64)
        row = np.repeat(np.arange(len(texts)), [len(part) for part in cut])
        if not numbers:
            return row, said
        ids = [self._ids(token) for token in numbers]
        sizes = np.array([len(one) for one in ids], np.int64)
        starts = np.cumsum(sizes) - sizes
        each = sizes[said]
        ends = np.cumsum(each)
        inside = np.arange(int(ends[-1])) - np.repeat(ends - each, each)
        return np.repeat(row, each), np.concatenate(ids)[np.repeat(starts[said], each) + inside]

    def _ids(self, token: str) -> Ints:
        """The known features of a token."""
        found = self._kept.get(token)
        if found is None:
            named = (self._places.get(one) for one in features_of(token))
            found = np.array([place for place in named if place is not None], np.int64)
            if len(self._kept) >= REMEMBERED:
                self._kept.clear()
            if len(token) <= LONGEST_KEPT:
                self._kept[token] = found
        return found


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in pieces of at most `CHUNK` characters, or of one text."""
    start, length = 0, 0
    for place, text in enumerate(texts):
        if length and length + len(text) > CHUNK:
            yield texts[start:place]
            start, length = place, 0
        length += len(text) + 1
    if start < len(texts):
        yield texts[start:]


def write_model(folder: Path, model: TextModel, card: Mapping[str, Any]) -> None:
    """Write a model into a folder that is there: features and card as JSON, weights as arrays."""
    np.savez(folder / WEIGHTS, idf=model.idf, weights=model.weights, intercepts=model.intercepts)
    listed = json.dumps(list(model.features), ensure_ascii=False)
    (folder / FEATURES).write_text(listed + "\n", encoding="utf-8")
    facts = {**card, "classes": list(model.classes)}
    (folder / CARD).write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def model_content(folder: Path, content: str, place: str) -> str:
    """The hash of a model's files, "absent" if one cannot be read.

    Raises:
        PlanError: the files hold something else than `content` tells, if it tells something.
    """
    return check_content([folder / name for name in (CARD, FEATURES, WEIGHTS)], content, place)


def read_card(folder: Path, kind: str, place: str) -> dict[str, Any]:
    """The card of a model.

    Raises:
        PlanError: there is none, or it is of another kind of model.
    """
    try:
        card = json.loads((folder / CARD).read_bytes())
    except OSError:
        raise _fault(folder, kind, place, f"no readable {CARD}") from None
    except (ValueError, RecursionError):
        raise _fault(folder, kind, place, "a card that is not JSON in UTF-8") from None
    if not isinstance(card, dict) or card.get("kind") != kind:
        raise _fault(folder, kind, place, "the card of another kind of model")
    return card


def read_model(folder: Path, kind: str, place: str) -> TextModel:
    """A model that was written by `write_model`.

    Raises:
        PlanError: it cannot be read, is of another kind, or its files do not belong together.
    """
    classes = read_card(folder, kind, place).get("classes")
    try:
        listed = json.loads((folder / FEATURES).read_bytes())
        data = io.BytesIO((folder / WEIGHTS).read_bytes())
        with np.load(data, allow_pickle=False) as found:
            idf, weights, intercepts = (found[name] for name in ("idf", "weights", "intercepts"))
    except Exception as error:  # a broken archive of arrays fails in as many ways as there are bytes
        raise _fault(folder, kind, place, f"files that cannot be read ({type(error).__name__})") from None
    if not _names(classes) or not _names(listed):
        raise _fault(folder, kind, place, "classes or features that are no lists of names")
    fits = (idf.shape, weights.shape, intercepts.shape) == (
        (len(listed),),
        (len(classes), len(listed)),
        (len(classes),),
    )
    if not fits or any(
        one.dtype != np.float64 or not np.isfinite(one).all() for one in (idf, weights, intercepts)
    ):
        raise _fault(folder, kind, place, "features, weights and card that do not belong together")
    return TextModel(tuple(classes), tuple(listed), idf, weights, intercepts)


def _names(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _fault(folder: Path, kind: str, place: str, got: str) -> PlanError:
    do = f"Make it with `trustgauge train {kind} TABLE -o FOLDER`"
    must = f"a folder with {CARD}, {FEATURES} and {WEIGHTS}"
    return PlanError.of(place, f'"{folder}" holds no trained model', must, got, do)
