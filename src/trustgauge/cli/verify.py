"""The verb verify: re-derive a rating from its stored answers, and check who signed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.errors import IntegrityError, MissingPartError, StoreError, VerifyError
from trustgauge.reports.document import is_expired
from trustgauge.terminal.options import output_options
from trustgauge.terminal.output import Exit, emit_json

if TYPE_CHECKING:
    from trustgauge.run.proof_bundle import SignatureCheck
    from trustgauge.run.sigstore_bundle import SigstoreCheck

MOST_DIFFERENCES = 20
"""Differences that are printed."""
REPORT = "what report.html says: `trustgauge show {id} --as html` makes it again from what was checked"
OUR_WORD = "that the service gave these answers, and when: that is the word of whoever rated"


@click.command("verify")
@click.argument("name", metavar="PLAN or ID or FILE", default="latest")
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="TRUSTGAUGE_VERIFY_KEY",
    help="Public key (PEM) that must have signed.",
)
@click.option("--identity", default="", help="Name that must have signed by Sigstore: an address or a URL.")
@click.option(
    "--issuer", default="", help="Login provider that must vouch for that name, such as a CI system's."
)
@click.option(
    "--trust-root",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Trusted roots of Sigstore.  [default: those of its library]",
)
@output_options
def verify_verb(name: str, key: Path | None, **options: Any) -> Any:
    """Recompute hashes, summaries and levels from the stored answers. Sends no requests.

    \b
    trustgauge verify TG-2026-1122-7f3a
    trustgauge verify proof.json --key ratings.pem.pub
    trustgauge verify latest --identity rater@example.org --issuer https://github.com/login/oauth

    PLAN means the newest run of this plan. Also checks the signature of a signed rating and, in a file
    written by `prove`, every row shown. Reports what was checked and what cannot be.
    """
    today = datetime.now(UTC).date()
    path = Path(name)
    is_bundle = path.suffix == ".json" and path.name != "rating.json" and path.is_file()
    try:
        return _bundle(path, key, today, options) if is_bundle else _run(name, key, today, options)
    except (IntegrityError, VerifyError) as error:
        from trustgauge.reports import sanitize

        if options["as_json"]:
            emit_json({"ok": False, "why": str(error)})
        click.echo(f"{'refused':<9}{sanitize.terminal(str(error))}", err=options["as_json"])
        return Exit(10, "verify refuses it")


def _run(name: str, key: Path | None, today: date, options: dict[str, Any]) -> Any:
    """Verify a run folder: everything derived again, then the signature."""
    from trustgauge.catalogue import find_folder, read_claims
    from trustgauge.reports import numbers, sanitize
    from trustgauge.run.verify import verify
    from trustgauge.terminal.plan_runs import run_of_target

    given = Path(name).parent if Path(name).name == "rating.json" else Path(name)
    whole = not (given / "rating.json").is_file() or (given / "manifest.json").is_file()
    # `verify` says what is missing of a folder that is not whole, and that others do not know as a run
    folder = find_folder(run_of_target(name, options), options["ratings"]) if whole else given
    verdict = verify(folder, today)
    document = read_claims(folder)
    by_name, unchecked = _by_sigstore(folder, document, options)
    signature, unread = _by_key(folder, document, key)
    if options["as_json"]:
        known = {"signature": _signature_facts(signature), "sigstore": _signature_facts(by_name)}
        emit_json(asdict(verdict) | known)
    elif not verdict.differences:
        until = f"{'expired' if verdict.expired else 'valid until'} {numbers.day(verdict.expires)}"
        click.echo(
            f"{'ok':<9}{verdict.answers:,} answers, {verdict.readings:,} readings, "
            f"{sanitize.count_with_noun(verdict.levels, 'level', 'levels')} re-derived; all equal · {until}"
        )
        for line in _report_lines(document["run"], signature, unread, by_name):
            click.echo(line)
        if unchecked:
            click.echo(f"{'open':<9}{unchecked}")
        click.echo(f"{'open':<9}{REPORT.format(id=document['run']['id'])}")
        click.echo(f"{'open':<9}{OUR_WORD}")
    for line in _differences(verdict.differences):
        click.echo(f"{'differs':<9}{line}", err=options["as_json"])
    if verdict.differences:
        return Exit(10, "verify disagrees with the rating that was issued")
    return None


def _differences(found: Sequence[str]) -> list[str]:
    """What differs, the plan and the answers before the figures that follow from them; of many the first."""
    ordered = sorted(found, key=lambda one: one.startswith("ratings["))
    if len(ordered) <= MOST_DIFFERENCES:
        return ordered
    more = len(ordered) - MOST_DIFFERENCES
    return [*ordered[:MOST_DIFFERENCES], f"in {more:,} further places: --json lists all"]


def _by_key(folder: Path, document: Any, key: Path | None) -> tuple[SignatureCheck | None, str]:
    """Which key signed, if any did, and else why that is not known."""
    from trustgauge.run.proof_bundle import check_signature, read_envelope

    if not (folder / "rating.dsse.json").exists():
        if key is not None:
            raise VerifyError("this rating is not signed", must=f"a signature by the key in {key}")
        return None, ""
    try:
        found = read_envelope(folder)
        return check_signature(found, (folder / "rating.json").read_bytes(), document, key), ""
    except MissingPartError as error:
        if key is not None:
            raise
        return None, str(error)


def _by_sigstore(folder: Path, document: Any, options: dict[str, Any]) -> tuple[SigstoreCheck | None, str]:
    """Who signed by Sigstore, if anybody did, and else why that is not known."""
    from trustgauge.run.sigstore_bundle import BUNDLE, check_bundle

    wanted = {name: options[name] for name in ("identity", "issuer")}
    if not (folder / BUNDLE).exists():
        if any(wanted.values()) or options["trust_root"]:
            raise VerifyError("this rating is not signed by Sigstore", must=f"{BUNDLE} in its folder")
        return None, ""
    rating = (folder / "rating.json").read_bytes()
    try:
        root = options["trust_root"]
        return check_bundle(folder / BUNDLE, rating, document, root=root, **wanted), ""
    except MissingPartError as error:
        if any(wanted.values()) or options["trust_root"]:
            raise
        return None, str(error)


def _bundle(path: Path, key: Path | None, today: date, options: dict[str, Any]) -> Any:
    """Verify a file of `prove`: signature, rating and rows; the other answers are not there."""
    from trustgauge.reports import numbers, sanitize
    from trustgauge.run.proof_bundle import check_bundle

    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be read", got=error.strerror or str(error)) from None
    checked = check_bundle(data, key)
    run = checked.document["run"]
    expired = is_expired(checked.document, today)  # type: ignore[arg-type]
    if options["as_json"]:
        shown = {"ok": True, "run": run["id"], "expires": run["expires"], "expired": expired}
        emit_json(shown | {"signature": _signature_facts(checked.signature), "rows": list(checked.rows)})
        return None
    until = f"{'expired' if expired else 'valid until'} {numbers.day(run['expires'])}"
    count = len(checked.document["ratings"])
    click.echo(f"{'ok':<9}{sanitize.terminal(run['id'])}, {count} rating{'s' * (count != 1)} · {until}")
    for line in _report_lines(run, checked.signature, ""):
        click.echo(line)
    rows = run.get("tree", {}).get("rows", 0)
    if checked.rows:
        hidden = f"the other {rows - len(checked.rows):,} stay unknown"
        click.echo(f"{'rows':<9}{len(checked.rows):,} of {rows:,} answers shown, each one rated; {hidden}")
        for row in checked.rows:
            said = f"{row.get('service')}, {row.get('id')}: {row.get('message')} → {row.get('output')}"
            click.echo(f"{'':<9}{sanitize.terminal(said)}")
    levels = "that the levels follow from the answers: only the run folder can show that"
    click.echo(f"{'open':<9}{levels}")
    click.echo(f"{'open':<9}{OUR_WORD}")
    return None


def _report_lines(
    run: Any, signature: SignatureCheck | None, unread: str, by_name: SigstoreCheck | None = None
) -> Iterator[str]:
    """What was found of the lock and of the signature, and what not."""
    from trustgauge.reports import sanitize

    if lock := run.get("lock"):
        before = "before" if lock["at"] <= run["started"] else "only after"
        yield f"{'locked':<9}plan locked {sanitize.terminal(lock['at'])}, {before} the run began"
    if signature is not None:
        yield f"{'signed':<9}{sanitize.terminal(signature.signed)} by key {signature.key}"
        if not signature.is_known:
            yield f"{'open':<9}whose key that is: give the public key that you trust by --key"
    if by_name is not None:
        who, vouching = sanitize.terminal(by_name.identity), sanitize.terminal(by_name.issuer)
        yield f"{'signed':<9}{sanitize.terminal(by_name.signed)} by {who}, says {vouching} (Sigstore)"
        if not by_name.is_known:
            yield f"{'open':<9}whether that is who you expect: give the name by --identity"
    elif signature is None:
        yield f"{'open':<9}{unread or 'who vouches for it: it is not signed'}"


def _signature_facts(signature: SignatureCheck | SigstoreCheck | None) -> dict[str, Any] | None:
    return asdict(signature) if signature else None
