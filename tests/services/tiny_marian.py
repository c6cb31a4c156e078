"""A translation model of a few kilobytes as `firefox-translations` loads it: untrained, but whole."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PIECES = 34


def make(folder: Path, texts: Sequence[str]) -> Path:
    """A folder with `model.bin`, its vocabulary and `vocab.spm`."""
    import ctranslate2
    import sentencepiece
    import torch
    import transformers

    (folder / "texts.txt").write_text("\n".join(texts), "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "texts.txt"),
        model_prefix=str(folder / "vocab"),
        vocab_size=PIECES,
        minloglevel=2,
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "vocab.model"))
    words = [pieces.id_to_piece(number) for number in range(len(pieces))] + ["<pad>"]
    (folder / "vocab.json").write_text(
        json.dumps({word: number for number, word in enumerate(words)}), "utf-8"
    )
    for side in ("source", "target"):
        shutil.copy(folder / "vocab.model", folder / f"{side}.spm")
    torch.manual_seed(1)
    end, pad = words.index("</s>"), len(words) - 1
    shape: dict[str, Any] = {
        f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in SHAPE.items()
    }
    tokens: dict[str, Any] = {
        "eos_token_id": end,
        "pad_token_id": pad,
        "decoder_start_token_id": pad,
        "forced_eos_token_id": end,
    }
    config = transformers.MarianConfig(
        vocab_size=len(words), d_model=8, max_position_embeddings=512, **shape, **tokens
    )
    transformers.MarianMTModel(config).save_pretrained(folder / "model")
    names: dict[str, Any] = {name: str(folder / file) for name, file in FILES.items()}
    converted = folder / "converted"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # recommends a library for punctuation
        transformers.MarianTokenizer(**names).save_pretrained(folder / "model")
        ctranslate2.converters.TransformersConverter(str(folder / "model")).convert(str(converted))
    shutil.copy(folder / "vocab.model", converted / "vocab.spm")
    return converted


SHAPE = {"layers": 1, "attention_heads": 2, "ffn_dim": 16}
FILES = {"source_spm": "source.spm", "target_spm": "target.spm", "vocab": "vocab.json"}
