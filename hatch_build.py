"""What a built package says of where it comes from.

Its README has every link and picture by absolute address, since indexes of packages show it by itself. One
setting says where the repository is: the variable TRUSTGAUGE_REPOSITORY, as `https://HOST/OWNER/trustgauge`,
which the release workflow takes from where it runs. Without it, as in a working folder, links stay relative
and no address is named.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"(!\[[^\]]*\]\()(?!https?:|#)([^)]+)\)")
LINK = re.compile(r"((?<!!)\[[^\]]*\]\()(?!https?:|#|mailto:)([^)]+)\)")


class AbsoluteAddresses(MetadataHookInterface):
    """Fills in `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = os.environ.get("TRUSTGAUGE_REPOSITORY", "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text("utf-8")
        if repository:
            text = absolute(text, repository, f"v{metadata['version']}")
            metadata["urls"] = addresses(repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text: str, repository: str, revision: str) -> str:
    """A README whose links and pictures lead to a revision of the repository."""
    text = PICTURE.sub(rf"\1{repository}/raw/{revision}/\2)", text)
    return LINK.sub(rf"\1{repository}/blob/{revision}/\2)", text)


def addresses(repository: str) -> dict[str, str]:
    """Where the project is, by the names that indexes of packages know."""
    return {
        "Homepage": repository,
        "Documentation": f"{repository}/tree/main/docs",
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
    }
