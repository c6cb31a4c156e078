"""What the checker of sentences reads in each held-out text: one letter a text, in `held_out_readings.txt`.

To read all texts takes a minute: `python -m tests.methods.trust.held_out_readings` does, and writes the
letters. The tests count them, and read some of the texts again.
"""

from __future__ import annotations

from pathlib import Path

from trustgauge.apps.train.abuse_sentences import sentence_table
from trustgauge.methods.trust.abuse_checkers import READINGS, SENTENCES, checker

FILE = Path(__file__).with_suffix(".txt")
A_LINE = 100


def held_out_readings() -> dict[str, str]:
    """Text -> one of READINGS, as the file has it."""
    of_letter = {one[0]: one for one in READINGS}
    letters = FILE.read_text("utf-8").replace("\n", "")
    return dict(
        zip(sentence_table("held-out")["text"], [of_letter[letter] for letter in letters], strict=True)
    )


def main() -> None:
    read = checker(SENTENCES).read(sentence_table("held-out")["text"].to_list())
    letters = "".join(one[0] for one in read)
    lines = [letters[start : start + A_LINE] for start in range(0, len(letters), A_LINE)]
    FILE.write_text("\n".join([*lines, ""]), "utf-8")


if __name__ == "__main__":
    main()
