"""Writes the parts of the docs that are made from the code: help of commands, manual page, schemas.

python docs/build.py
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from trustgauge.cli.list import schemas
from trustgauge.cli.main import group, verbs

REFERENCE = Path(__file__).parent / "reference"
HEAD = """\
# Commands

Results go to stdout (with `--json` exactly one document); plan, progress, notes and errors go to stderr.
Options override environment variables (`TRUSTGAUGE_SEED` and so on), which override the plan.

| exit code | meaning |
|---|---|
| 0 | done, whatever the rating |
| 1 | internal error, or a void run |
| 2 | usage or plan error, or an unusable run folder; nothing was sent, unless the last line says otherwise |
| 3 | service unreachable, key missing or refused |
| 4 | incomplete: limit reached, too many calls lost or disk full; all received answers are saved |
| 5 | not settled, or below `--need-certainty` (only with `--need-certainty` or `--fail-on`) |
| 10 | gate failed: `--fail-on` reached, `verify` disagrees, or `reproduce` meets an unexplained difference |
| 130 | interrupted; all received answers are saved |

If several apply, the first of 130, 1, 2, 3, 4, 10, 5 is given.

The shell completes verbs and options after one line in its start-up file:
`eval "$(_TRUSTGAUGE_COMPLETE=bash_source trustgauge)"` in `~/.bashrc`, with `zsh_source` in `~/.zshrc`,
and for fish `_TRUSTGAUGE_COMPLETE=fish_source trustgauge | source` in `~/.config/fish/config.fish`.

`man trustgauge` shows this page where the package is installed for the system or by pipx; elsewhere
`man -l` opens [its file](trustgauge.1).
"""


def commands() -> str:
    """The page of all commands with their help, as the command line prints it."""
    context = group.make_context("trustgauge", [], resilient_parsing=True)
    sections = [HEAD]
    for verb in verbs():
        command = group.get_command(context, verb)
        assert command is not None
        help_text = command.get_help(
            click.Context(command, info_name=verb, parent=context, max_content_width=100)
        )
        sections.append(f"## {verb}\n\n```text\n{help_text.rstrip()}\n```\n")
    return "\n".join(sections)


def manual() -> str:
    """The manual page of section 1: every command with its help, the exit codes, completion by the shell."""
    context = group.make_context("trustgauge", [], resilient_parsing=True)
    lines = [
        ".TH TRUSTGAUGE 1",
        ".SH NAME",
        r"trustgauge \- rate black\-box AI services",
        ".SH SYNOPSIS",
        r".B trustgauge\fR COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH COMMANDS",
    ]
    for verb in verbs():
        command = group.get_command(context, verb)
        assert command is not None
        told = click.Context(command, info_name=verb, parent=context, max_content_width=76)
        lines += [f".SS {verb}", ".nf", *map(_roff, command.get_help(told).rstrip().splitlines()), ".fi"]
    about = HEAD.partition("\n\n")[2].rstrip()
    lines += [".SH RESULTS, EXIT STATUS AND COMPLETION", ".nf", *map(_roff, about.splitlines()), ".fi"]
    return "\n".join(lines) + "\n"


def _roff(line: str) -> str:
    """A line of text as it stands, whatever it holds."""
    line = line.replace("\\", r"\e").replace("-", r"\-")
    line = "".join(char if char.isascii() else rf"\[u{ord(char):04X}]" for char in line)
    return rf"\&{line}" if line.startswith((".", "'")) else line


def main() -> None:
    """Write everything."""
    (REFERENCE / "trustgauge.1").write_text(manual(), "utf-8")
    (REFERENCE / "commands.md").write_text(commands(), "utf-8")
    folder = REFERENCE / "schemas"
    folder.mkdir(exist_ok=True)
    for name, content in schemas().items():
        (folder / f"{name}-1.json").write_text(
            json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8"
        )


if __name__ == "__main__":
    main()
