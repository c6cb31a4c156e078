"""The file that shows a rating and some of its answers, with all that others need to check it offline.

    {"schema": "trustgauge.proof/1", "rating": text of rating.json, "key": public key or null,
     "envelope": DSSE or null, "rows": [{"index", "nonce", "row", "path"}, ...]}

It is canonical JSON, and a changed bit anywhere in it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trustgauge.catalogue import read
from trustgauge.errors import StoreError, VerifyError
from trustgauge.records import canonical, json_or_none
from trustgauge.reports.document_model import misfit
from trustgauge.run.accumulator import AnswerTree, RowProof, root_from
from trustgauge.run.envelope import (
    ENVELOPE,
    keys,
    open_envelope,
    plain_bytes,
    read_canonical,
)
from trustgauge.run.signing_keys import key_id, public_key
from trustgauge.run.verify import rederive

SCHEMA = "trustgauge.proof/1"
MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """Who signed a rating and when, and whether that key is the one that the reader knows."""

    key: str
    signed: str
    is_known: bool


@dataclass(frozen=True, slots=True)
class BundleCheck:
    """What a bundle shows once all of it was checked."""

    document: dict[str, Any]
    signature: SignatureCheck | None
    rows: tuple[dict[str, Any], ...]


def read_envelope(folder: Path) -> Any:
    """The kept signature of a run folder, with its public key; None if the run is not signed.

    Raises VerifyError if it was changed, StoreError if it cannot be read.
    """
    path = folder / ENVELOPE
    try:
        if not path.exists():
            return None
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be read", got=error.strerror or str(error)) from None
    found = read_canonical(data.removesuffix(b"\n"), path.name)
    keys(found, ("envelope", "key"), path.name)
    return found


def check_signature(found: Any, rating: bytes, document: Any, known: Path | None) -> SignatureCheck:
    """Who signed this `rating.json`, by an envelope and a public key as `read_envelope` gives them.

    Args:
        found: envelope and key.
        rating: the bytes of the `rating.json`.
        document: the same, read.
        known: file of the public key that the reader trusts; without one any key will do, and is named.

    Raises:
        VerifyError: nobody did; MissingPartError: the extra `sign` is not installed.
    """
    public = plain_bytes(found["key"], "the public key")
    if known is not None and public != public_key(known):
        must, got = key_id(public_key(known)), key_id(public)
        raise VerifyError(f"it is signed by another key than {known}", must=must, got=got)
    said = open_envelope(found["envelope"], public, rating, document)
    return SignatureCheck(key_id(public), said["signed"], known is not None)


def prove(folder: Path, wanted: Sequence[int]) -> bytes:
    """The bundle of a run that shows these rows, by their places.

    Raises:
        StoreError: there is no such row, or the run has no tree of its answers.
        VerifyError: the answers are not those that were rated.
    """
    document = read(folder)
    claimed = document["run"].get("tree")
    if claimed is None:
        do = "Run its plan.toml again: it is rated again without sending requests"
        raise StoreError(f"{folder} comes from a version that did not hash single answers", do=do)
    proofs: list[RowProof] = []
    if wanted:
        if max(wanted) >= claimed["rows"]:
            must = f"0 to {claimed['rows'] - 1}"
            raise StoreError("there is no such row", must=must, got=str(max(wanted)))
        tree = AnswerTree(wanted)
        rederive(folder, tree=tree)
        if (tree.root().hex(), tree.rows) != (claimed["root"], claimed["rows"]):
            raise VerifyError(
                "the stored answers are not those that were rated", do="See `trustgauge verify`"
            )
        proofs = tree.proofs()
    return bundle_text((folder / "rating.json").read_text("utf-8"), read_envelope(folder), proofs).encode()


def bundle_text(rating: str, signed: Any, proofs: Sequence[RowProof]) -> str:
    """A bundle of the text of a `rating.json`, of envelope and key, None if not signed, and of rows."""
    content = {
        **(signed or {"envelope": None, "key": None}),
        "schema": SCHEMA,
        "rating": rating,
        "rows": [
            {
                "index": one.place,
                "nonce": one.nonce.hex(),
                "row": one.row.decode(),
                "path": [each.hex() for each in one.path],
            }
            for one in proofs
        ],
    }
    return canonical(content)


def rows_by_id(folder: Path, ids: Sequence[str]) -> list[int]:
    """The places of all rows with these ids (of the evidence), in order.

    Raises StoreError for an id that no row has.
    """
    wanted: dict[str, list[int]] = {one: [] for one in ids}

    class Finder(AnswerTree):
        """Reads the id of each row as it passes."""

        def add(self, lines: bytes) -> None:
            for place, row in enumerate(lines.split(b"\n")[:-1], start=self.rows):
                found = wanted.get(json.loads(row)["id"])
                if found is not None:
                    found.append(place)
            super().add(lines)

    rederive(folder, tree=Finder())
    for name, places in wanted.items():
        if not places:
            raise StoreError("no row has this id", got=name, do="`show ID --as evidence-csv` names all")
    return sorted(place for places in wanted.values() for place in places)


def check_bundle(data: bytes, known: Path | None) -> BundleCheck:
    """Check all of a bundle: form, signature, hash of the rating, and every row up to the signed root.

    Raises:
        VerifyError: something does not hold; MissingPartError: it is signed and the extra is not installed.
    """
    bundle = read_canonical(data, "the bundle")
    keys(bundle, ("schema", "rating", "key", "envelope", "rows"), "the bundle")
    if bundle["schema"] != SCHEMA or not isinstance(bundle["rating"], str):
        raise VerifyError("the bundle is of another kind", must=SCHEMA)
    rating = bundle["rating"].encode("utf-8", "surrogatepass")
    document = read_canonical(rating, "the rating in the bundle")
    signature = None
    if bundle["envelope"] is not None or bundle["key"] is not None:
        signature = check_signature(bundle, rating, document, known)
    elif known is not None:
        raise VerifyError("the bundle is not signed", must=f"a signature by the key in {known}")
    if where := misfit(document):
        raise VerifyError("the rating in the bundle has not the form of its schema", got=where)
    if not isinstance(bundle["rows"], list) or len(bundle["rows"]) > MOST_ROWS:
        raise VerifyError("the rows have not the form that they must have", must=f"at most {MOST_ROWS}")
    tree = document["run"].get("tree")
    rows = tuple(_row(one, tree) for one in bundle["rows"])
    places = [one["index"] for one in bundle["rows"]]
    if places != sorted(set(places)):
        raise VerifyError("the rows are not in order, or one is shown twice")
    return BundleCheck(document, signature, rows)


def _row(one: Any, tree: Any) -> dict[str, Any]:
    """The answer in a row of a bundle, if it stands in the tree."""
    keys(one, ("index", "nonce", "row", "path"), "a row")
    index, path = one["index"], one["path"]
    if type(index) is not int or not isinstance(one["row"], str) or not isinstance(path, list):
        raise VerifyError("a row has not the form that it must have")
    proof = RowProof(
        index,
        _hex(one["nonce"], 16),
        one["row"].encode("utf-8", "surrogatepass"),
        [_hex(each, 32) for each in path],
    )
    root = root_from(proof, tree["rows"]) if tree else None
    if root is None or root.hex() != tree["root"]:
        raise VerifyError(f"row {index} is not one of the rated answers, or was changed")
    answer = json_or_none(one["row"])
    if not isinstance(answer, dict):
        raise VerifyError(f"row {index} is no answer")
    return answer


def _hex(text: Any, size: int) -> bytes:
    try:
        data = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        data = b""
    if len(data) != size or data.hex() != text:
        raise VerifyError("a hash in a row has not the form that it must have", must=f"{size} bytes in hex")
    return data
