"""Vectors of sentences by a model on this machine, in the form of Hugging Face or sentence-transformers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trustgauge.data.tables import fault, files_below
from trustgauge.methods.social_bias.judges.similarity import Vectors
from trustgauge.plugins import need_library

LIBRARIES = ("transformers", "torch")
KEPT = 100_000  # texts whose vectors are kept: expressions recur with every answer
LONGEST = 512  # tokens of a text that are read, where the model tells no limit
ABSURD = 1_000_000  # tokens; tokenizers write a huge number where they know no limit
POOLING = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_max_tokens": "max",
}
Pooling = Literal["mean", "first", "max"]
Floats = NDArray[np.float64]


def model_files(folder: Path, place: str) -> list[Path]:
    """The files of a model, those of its modules included; not its README.

    Raises:
        PlanError: the folder holds far more than a model.
    """
    found = [one for one in files_below(folder, place) if one.suffix.lower() != ".md"]
    return [one for one in found if not any(part.startswith(".") for part in one.relative_to(folder).parts)]


def sentence_vectors(folder: Path, place: str) -> Vectors:
    """The vectors of whole texts; a text without words is all zero.

    Without `modules.json` the vectors of the tokens are averaged; with it they are pooled as it says.
    A text is cut after as many tokens as the model reads.

    Raises:
        PlanError: the folder has no such model, or modules that we do not know.
        MissingPartError: a library is not installed.
    """
    for library in LIBRARIES:
        need_library(library, "pip install 'trustgauge[hf]'")
    where, pooling, longest = _shape(folder, place)
    encode = _encoder(where, pooling, longest, place)
    kept: dict[str, Floats] = {}

    def vectors(texts: Sequence[str]) -> Floats:
        new = [one for one in dict.fromkeys(texts) if one not in kept]
        if len(kept) + len(new) > KEPT:
            kept.clear()
            new = list(dict.fromkeys(texts))
        kept.update((one, encode(one)) for one in new)
        return np.stack([kept[one] for one in texts])

    return vectors


def _shape(folder: Path, place: str) -> tuple[Path, Pooling, int]:
    """Where the transformer lies, how the vectors of its tokens become one, and how many it reads."""
    listed = _json(folder / "modules.json", place)
    if listed is None:
        return folder, "mean", 0
    where, pooling = folder, "mean"
    for module in listed if isinstance(listed, list) else [{}]:
        kind = str(module.get("type", "")).rpartition(".")[2] if isinstance(module, dict) else ""
        inner = folder / str(module.get("path", "")) if kind else folder
        within = False
        with suppress(ValueError):  # no path holds half a character
            within = inner.resolve().is_relative_to(folder.resolve())
        if not within:
            raise fault(folder, place, "modules.json leads out of the folder")
        if kind == "Transformer":
            where = inner
        elif kind == "Pooling":
            pooling = _pooling(folder, _json(inner / "config.json", place), place)
        elif kind != "Normalize":  # which changes no cosine
            must = "Transformer, Pooling and perhaps Normalize"
            raise fault(folder, place, "a module of the model is not known", must=must, got=kind)
    config = _json(where / "sentence_bert_config.json", place)
    longest = config.get("max_seq_length") if isinstance(config, dict) else None
    return where, pooling, longest if isinstance(longest, int) else 0  # type: ignore[return-value]


def _pooling(folder: Path, config: Any, place: str) -> str:
    """How the vectors of tokens become one; exactly one way of those that we know."""
    given = config if isinstance(config, dict) else {}
    chosen = [name for name, on in given.items() if name.startswith("pooling_mode_") and on is True]
    if len(chosen) != 1 or chosen[0] not in POOLING:
        got = ", ".join(chosen) or "none"
        raise fault(
            folder, place, "the model's pooling is not known", must=f"one of: {', '.join(POOLING)}", got=got
        )
    return POOLING[chosen[0]]


def _json(file: Path, place: str) -> Any:
    """What a file of the model holds; None if it is not there."""
    try:
        return json.loads(file.read_bytes()) if file.is_file() else None
    except (ValueError, OSError, RecursionError) as error:
        raise fault(file, place, "the file cannot be read", must="JSON", got=type(error).__name__) from None


def _encoder(where: Path, pooling: str, longest: int, place: str) -> Callable[[str], Floats]:
    """The function from a text to its vector. Nothing is downloaded; the model runs no code of its own."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(where), **local)
        model, found = transformers.AutoModel.from_pretrained(str(where), output_loading_info=True, **local)
    except Exception as error:  # weights and tokenizers raise errors of many libraries
        got = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}"
        must = "config.json, weights and tokenizer, as `save_pretrained` writes them"
        raise fault(where, place, "the model cannot be loaded", must=must, got=got) from None
    gaps = sorted(str(key) for key in found["missing_keys"] if "pooler" not in str(key))
    if gaps:
        # the library fills such gaps with random numbers
        raise fault(where, place, "the model lacks weights", got=", ".join(gaps[:3]))
    model = model.double().eval()
    limits = (longest, tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None))
    most = min((int(one) for one in limits if one and one < ABSURD), default=LONGEST)

    def encode(text: str) -> Floats:
        given = tokenizer(text, return_tensors="pt", truncation=True, max_length=most)
        if not given["input_ids"].shape[1]:
            return np.zeros(int(model.config.hidden_size))
        with torch.inference_mode():
            tokens = model(**given).last_hidden_state[0]
        if pooling == "first":
            pooled = tokens[0]
        else:
            pooled = tokens.mean(0) if pooling == "mean" else tokens.max(0).values
        return np.asarray(pooled.numpy(), dtype=np.float64)

    return encode
