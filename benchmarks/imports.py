"""What a large log costs to import: spans of OpenTelemetry's GenAI conventions, one process, measured whole.

    python -m benchmarks.imports [--spans 1000000]

Conversations of three calls, each call with the whole history that a chat sends, as OTLP/JSON lines.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks.folders import seconds_and_megabytes

TURNS = 3
SPANS = 1_000_000
WORDS = "a longer message as people write them when they explain what they need and why it matters. " * 8


def write_log(file: Path, spans: int) -> int:
    """Write a log of so many spans. Returns its bytes."""
    with file.open("w", encoding="utf-8") as stream:
        for number in range(spans):
            talk, turn = divmod(number, TURNS)
            said = []
            for before in range(turn + 1):
                said.append(_message("user", f"Question {before} of {talk}: {WORDS}"))
                if before < turn:
                    said.append(_message("assistant", f"Answer {before} to {talk}."))
            told = {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json.dumps(said),
                "gen_ai.output.messages": json.dumps([_message("assistant", f"Answer {turn} to {talk}.")]),
            }
            attributes = [{"key": key, "value": {"stringValue": value}} for key, value in told.items()]
            span = {"startTimeUnixNano": str(1_700_000_000_000_000_000 + number), "attributes": attributes}
            stream.write(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) + "\n")
    return file.stat().st_size


def _message(role: str, text: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--spans", type=int, default=SPANS)
    spans = parser.parse_args().spans
    for number in (spans // 10, spans):
        with tempfile.TemporaryDirectory() as name:
            size = write_log(Path(name, "spans.jsonl"), number)
            seconds, memory = seconds_and_megabytes(
                Path(name), "import", "otlp", "spans.jsonl", "-o", "out", "--quiet"
            )
        print(f"{number:>9,} spans  {size / 1e6:7,.0f} MB  {seconds:6.0f} s  {memory:5.0f} MB of memory")


if __name__ == "__main__":
    main()
