"""The verbs lock, key, sign and prove. None sends a request, but `sign --sigstore`."""

from __future__ import annotations

import json
import os
import re
import sys
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from trustgauge.errors import PlanError, StoreError
from trustgauge.records import canonical
from trustgauge.terminal.options import DEFAULT_PLAN, output_options, plan_of
from trustgauge.terminal.output import emit_json, say, write_output

FILE = click.Path(path_type=Path, dir_okay=False)
_RANGE = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?")


@click.command("lock")
@click.argument("plan", type=FILE, required=False, default=DEFAULT_PLAN)
@output_options
def lock_verb(plan: Path, **options: Any) -> None:
    """Record the hash of a plan before running it. Sends no requests.

    \b
    trustgauge lock trustgauge.toml

    `rate` then refuses any other plan, and the rating shows when its plan was locked. The time is your own
    claim: commit or publish the file to prove it to others.
    """
    from trustgauge.run.plan_lock import checked_lock, write_lock

    locked = plan_of(str(plan), options)
    path = write_lock(plan, locked, datetime.now(UTC))
    if options["as_json"]:
        emit_json(checked_lock(plan, locked))
        return
    click.echo(f"{'wrote':<9}{path}")
    click.echo(f"{'plan':<9}{locked.hash}")


@click.command("key")
@click.argument("file", type=FILE)
def key_verb(file: Path) -> None:
    """Create a key pair for signing ratings: FILE (encrypted) and FILE.pub (for verifiers).

    \b
    trustgauge key ~/keys/ratings.pem

    Asks for a passphrase, or takes it from TRUSTGAUGE_KEY_PASSPHRASE. FILE must not be in a run folder.
    """
    from trustgauge.run.signing_keys import key_id, new_key

    public = new_key(file, _passphrase(file, new=True))
    click.echo(f"{'wrote':<9}{file} (encrypted; keep it), {file}.pub (for verifiers)")
    click.echo(f"{'key':<9}{key_id(public)}")


@click.command("sign")
@click.argument("name", metavar="ID", default="latest")
@click.option(
    "--key",
    type=FILE,
    envvar="TRUSTGAUGE_KEY_FILE",
    help="Encrypted private key (`trustgauge key`); without it, TRUSTGAUGE_SIGNING_KEY holds one.",
)
@click.option(
    "--sigstore", is_flag=True, help="Sign under your name by Sigstore, which writes it into a public log."
)
@click.option(
    "--trust-config", type=FILE, help="Configuration of a Sigstore instance other than the public one."
)
@output_options
def sign_verb(name: str, key: Path | None, sigstore: bool, trust_config: Path | None, **options: Any) -> None:
    """Recompute a rating and sign it if it agrees. Sends requests only with --sigstore.

    \b
    trustgauge sign latest --key ~/keys/ratings.pem
    trustgauge sign latest --sigstore

    Writes rating.dsse.json into the run folder: an in-toto statement in a DSSE envelope, Ed25519. With
    --sigstore it writes rating.sigstore.json: the same statement, signed in the name of your login or
    build. That name, the hash of the statement and its signature stay in a public log.
    """
    from trustgauge.catalogue import find_folder, read
    from trustgauge.run.envelope import ENVELOPE, seal, statement
    from trustgauge.run.signing_keys import key_id, private_key
    from trustgauge.run.verify import check_rating
    from trustgauge.store.folder import write_file

    folder = find_folder(name, options["ratings"])
    if trust_config and not sigstore:
        raise PlanError.of("--trust-config", "there is no Sigstore signature", do="Add --sigstore")
    passphrase = os.environ.get("TRUSTGAUGE_KEY_PASSPHRASE")
    secret = None if sigstore else private_key(key, _passphrase(key) if key else passphrase)
    now = datetime.now(UTC)
    document = read(folder)
    if "tree" not in document["run"]:
        do = f"Run {folder / 'plan.toml'} again: it is rated again without sending requests"
        raise StoreError(f"{folder} comes from a version that did not hash single answers", do=do)
    verdict = check_rating(folder, now.date(), "nothing was signed")
    rating, at = (folder / "rating.json").read_bytes(), now.isoformat(timespec="seconds")
    if secret is None:
        from trustgauge.run.sigstore_bundle import BUNDLE, sign_statement

        file, key_facts = folder / BUNDLE, {}
        content = sign_statement(statement(rating, document, at), trust_config)
    else:
        public = secret.public_key().public_bytes_raw()
        file, key_facts = folder / ENVELOPE, {"key": key_id(public)}
        envelope = seal(rating, document, secret, at)
        content = canonical({"envelope": envelope, "key": b64encode(public).decode()})
    write_file(file, content + "\n")
    if options["as_json"]:
        emit_json({"file": str(file), **key_facts})
        return
    signed = {"signed": f"{document['run']['id']}, {verdict.answers:,} answers re-derived first"}
    for head, words in {**signed, **key_facts, "wrote": file}.items():
        click.echo(f"{head:<9}{words}")


@click.command("prove")
@click.argument("name", metavar="ID")
@click.argument("rows", metavar="[ROW]...", nargs=-1)
@click.option("--rows", "more", multiple=True, metavar="ROW,...", help="The same, separated by commas.")
@click.option("-o", "--output", type=FILE, help="Write to this file instead of stdout.")
@output_options
def prove_verb(name: str, rows: tuple[str, ...], more: tuple[str, ...], **options: Any) -> None:
    """Show chosen answers of a rating, with proof that they were rated, without the others.

    \b
    trustgauge prove latest 3 17 100-107 -o proof.json
    trustgauge prove TG-2026-1122-7f3a u1-007
    trustgauge verify proof.json --key ratings.pem.pub

    ROW is a number from 0, a range, or the id of a text as in `show --as evidence-csv`. Let whoever doubts
    a rating choose the rows. Without ROW the file shows the rating alone. In a terminal a summary is
    printed instead of the file, unless --json or -o is given. Sends no requests.
    """
    from trustgauge.catalogue import find_folder
    from trustgauge.run.proof_bundle import prove

    folder = find_folder(name, options["ratings"])
    asked = [*rows, *(one for each in more for one in each.split(",") if one)]
    bundle = prove(folder, _places(folder, asked))
    if options["output"] is None and sys.stdout.isatty() and not options["as_json"]:
        say(_summary(bundle), options)
    else:
        write_output(options["output"], bundle)


def _summary(bundle: bytes) -> list[Any]:
    """What a bundle shows, in lines for a terminal."""
    from trustgauge.reports.terminal import line

    content = json.loads(bundle)
    document = json.loads(content["rating"])
    run, rows, signed = document["run"], len(content["rows"]), content["envelope"] is not None
    count = len(document["ratings"])
    text = f"{run['id']}, {count} rating{'s' * (count != 1)}, {'signed' if signed else 'not signed'}"
    return [
        line("proof", text),
        line("rows", f"{rows:,} of {run['tree']['rows']:,} answers shown"),
        line("next", f"-o FILE writes it ({len(bundle):,} bytes); trustgauge verify FILE checks it"),
    ]


def _places(folder: Path, asked: Sequence[str]) -> list[int]:
    """The places of rows that are named by numbers, ranges and ids."""
    from trustgauge.run.proof_bundle import MOST_ROWS, rows_by_id

    places: set[int] = set()
    ids = []
    for one in asked:
        if not (found := _RANGE.fullmatch(one)):
            ids.append(one)
            continue
        first, last = int(found[1]), int(found[2] or found[1])
        if not first <= last < first + MOST_ROWS:
            raise click.BadParameter(f'must be FIRST-LAST, at most {MOST_ROWS} rows; got "{one}"')
        places |= set(range(first, last + 1))
    return sorted(places | set(rows_by_id(folder, ids) if ids else ()))


def _passphrase(file: Path, *, new: bool = False) -> str:
    """The passphrase of a key: from the environment, else asked for."""
    if found := os.environ.get("TRUSTGAUGE_KEY_PASSPHRASE"):
        return found
    if not sys.stdin.isatty():
        raise click.UsageError(f"TRUSTGAUGE_KEY_PASSPHRASE must hold the passphrase of {file}")
    return str(click.prompt(f"Passphrase of {file}", hide_input=True, confirmation_prompt=new, err=True))
