"""No reader of what comes from outside is forgotten: each module that reads is named by somebody."""

from __future__ import annotations

import ast
from pathlib import Path

import trustgauge
from tests.fuzz.readers import CASES

ROOT = Path(trustgauge.__file__).parent
LIBRARY = {
    *(
        "json.load",
        "json.loads",
        "tomllib.loads",
        "csv.reader",
        "csv.DictReader",
        "np.load",
        "zipfile.ZipFile",
    ),
    *("pl.read_csv", "pl.read_parquet", "pl.read_excel", "pl.scan_parquet", "pl.read_parquet_schema"),
    *("sqlite3.connect", "tarfile.open", "zlib.decompressobj", "shlex.split", "cloudpickle.loads"),
    *("pickle.load", "pickle.loads"),
}
"""Functions of libraries that read something foreign."""
PLAIN = {
    *("read_text", "read_bytes", "read_table", "read_parquet", "read_sheet", "load_file", "dotenv_values"),
    *("toml", "from_pretrained", "iter_lines", "package_text", "package_table", "json_or_none"),
}
"""Methods and functions that do, by their name alone."""
TESTED_ELSEWHERE = {
    "records": "who calls `json_or_none` is a reader by that",
    "services.transport": "test_answers.py: bodies of services",
    "services.http": "test_answers.py: described services",
    "services.chat_protocol": "test_answers.py: chat services",
    "services.server_events": "test_answers.py: streams",
    "services.command": "test_answers.py: lines of programs",
    "apps.proxy.exchange_parser": "test_answers.py: traffic through the proxy",
    "methods.trust.issues.leakage_trial": "texts.py: trial",
    "run.verify": "test_ratings.py: verify",
    "run.render": "test_ratings.py; a broken rating.json counts as none",
    "apps.watch.notify": "texts.py: notify",
    "apps.sheets.manual_answers": "readers.py: sheets; answers in tests/apps/sheets/test_manual_answers.py",
    "run.labelling": "readers.py: sheets; labels in tests/apps/audit/test_audit.py",
    "apps.audit.page": "tests/apps/audit/test_audit.py: requests that are no object, too large or of others",
    "apps.catalogue.api_requests": "tests/apps/catalogue/test_pages.py: hostile bodies and addresses",
    "apps.catalogue.store": "tests/apps/catalogue/test_store.py: hostile documents",
    "apps.catalogue.publish_verbs": "tests/apps/catalogue/test_people.py: answers of a catalogue",
    "apps.catalogue.mcp": "tests/apps/catalogue/test_pages.py: messages that are none",
    "apps.catalogue.app": "tests/apps/catalogue/test_pages.py: forms",
    **dict.fromkeys(
        (
            *("apps.catalogue.api", "apps.catalogue.cards", "apps.catalogue.exports", "apps.catalogue.jobs"),
            *("apps.catalogue.site", "apps.catalogue.summaries", "apps.catalogue.worker"),
            "apps.catalogue.migrations.versions.v0004_order",
        ),
        "what the catalogue wrote into its own database, from documents that its store has checked",
    ),
    "apps.signing.verb": "the rating.json that run.verify read before",
    "methods.social_bias.judges.trained": "tests/methods/social_bias/test_trained_judge.py: no trained judge",
    "run.proof_bundle": "tests/apps/signing/test_signing.py: flipped bits and hostile bundles",
    "run.envelope": "the same",
    "run.sigstore_bundle": "tests/apps/signing/test_sigstore.py: flipped bits, and what is no bundle",
    "run.signing_keys": "tests/apps/signing/test_signing.py: keys as they must not be kept",
    "run.plan_lock": "tests/apps/signing/test_signing.py: locks that are none",
    "cli.init": "tables and logs by the readers of data.tables and data.dialogs; plans of its own",
    "cli.verify": "the bundles of run.proof_bundle",
    "apps.importers.importer": "tests/apps/importers/test_importers.py: folders that hold no import",
    "apps.importers.conformance": "tests/apps/importers/test_conformance.py: an author's own file",
    "methods.two_step.chains": "settings of checked plans, written by run.chain_composition",
    "run.audit_log": "tests/apps/audit/test_audit.py: damaged and cut lines of labels",
    "services.hf_base": "test_huggingface.py: whatever its libraries raise becomes one error",
}
OWN = {
    *("services.apertium", "services.rivescript_bot"),
    *(
        "methods.trust.abuse_sentences",
        "methods.trust.abuse_words",
        "methods.trust.group_talk",
        "methods.trust.mentions",
        "methods.trust.bias_words",
        "methods.trust.pii",
        "methods.trust.placeholders",
    ),
    *(
        "data.__init__",
        "data.emotions",
        "data.neutral_source",
        "data.noun_gender",
        "data.predicates",
        "data.answer_style",
        "data.dialog_statistics",
    ),
    *("services.controls.__init__", "services.languages"),
    *("apps.catalogue.demo", "apps.catalogue.method_words", "apps.catalogue.templates"),
    *(
        "methods.trust.canaries",
        "methods.trust.conversation_scripts",
        "methods.trust.decoding",
        "methods.social_bias.disguise",
        "methods.causal.text_difference",
        "methods.two_step.direct_answers",
        "methods.two_step.disguise",
        "methods.trust.disguise",
        "methods.social_bias.judge_accuracy",
        "methods.social_bias.judges.lexer",
        "methods.trust.placeholders",
        "methods.social_bias.judges.verdict_weights",
    ),
    *("methods.social_bias.judges.evaluation", "apps.reproduce.paper_tables"),
    *("reports.comparison_page", "reports.interchange", "reports.svg"),
}
"""Modules that read files of the package only."""
OURSELVES = {
    "apps.distributed.dask_engine": "a batch that we packed, from a scheduler of the user's own",
    "methods.trust.issues.conformance": "what an issue wrote",
    "run.rate_transcript": "a file that the same command wrote",
    "apps.train.abuse_sentences": "a file of the package",
    "apps.train.abuse_counts": "a file of the package",
    "run.probe_batches": "files of the temporary folder of this process",
    "reports.components": "a file of the package",
    "reports.html": "a column that we made",
    "apps.importers.conversations": "a file of the same command, for the time that it runs",
    "apps.proxy.app": "what our own process prints",
    "apps.proxy.rating_worker": "what our own process sends",
    "apps.catalogue.migrations.versions.v0005_services": "what the catalogue wrote into its own database",
    **dict.fromkeys(
        (
            "kit_process",
            "engine.conformance",
            "methods.conformance",
            "services.conformance",
            "store.conformance",
        ),
        "what a kit wrote here",
    ),
}
"""Modules that read what this program wrote for itself, and why nobody else can."""


def named(function: ast.expr) -> str:
    """A function as it is called: "json.loads", or its last name."""
    if not isinstance(function, ast.Attribute):
        return getattr(function, "id", "")
    whole = f"{getattr(function.value, 'id', '')}.{function.attr}"
    return whole if whole in LIBRARY else function.attr


def reads(path: Path) -> set[str]:
    """What a module reads by."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {named(node.func) for node in nodes if isinstance(node, ast.Call)} & (LIBRARY | PLAIN)


def modules() -> dict[str, set[str]]:
    """Each module with what it reads by."""
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in ROOT.rglob("*.py")}
    return {name: found for name, path in paths.items() if (found := reads(path))}


def test_every_module_that_reads_is_tried_or_said_why_not() -> None:
    reading = modules()
    tried = {name for case in CASES for name in case.reaches}
    known = tried | TESTED_ELSEWHERE.keys() | OWN | OURSELVES.keys()
    forgotten = {name: sorted(found) for name, found in reading.items() if name not in known}
    assert forgotten == {}
    assert sorted((TESTED_ELSEWHERE.keys() | OWN | OURSELVES.keys()) - reading.keys()) == []


def test_what_a_case_reaches_is_a_module() -> None:
    paths = {name: ROOT.joinpath(*name.split(".")) for case in CASES for name in case.reaches}
    assert sorted(name for name, path in paths.items() if not path.with_suffix(".py").is_file()) == []


def test_no_two_cases_have_one_name() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))
