"""Signed reports: what holds, what does not, and what `verify` says about it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from conformance.commands.cli import main
from tests.conformance.fake_server import FakeServer, Reply

MANIFEST = {"specversion": "1.0", "implementation": {"name": "acme", "version": "4.5.6", "x": 1.5}}
Edit = Callable[[dict[str, Any]], object]


def write_key(
    folder: Path, made: Any = None, how: KeySerializationEncryption | None = None
) -> tuple[Path, Path]:
    key = made or Ed25519PrivateKey.generate()
    private, public = folder / "private.pem", folder / "public.pem"
    folder.mkdir(exist_ok=True)
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how or NoEncryption()))
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def judge(*more: str) -> int:
    server = FakeServer({"GET /ojs/manifest": Reply(json=MANIFEST)})
    command = ["run", "--url", "http://server", "--case", "fetch.first_in_first_out", *more]
    return main(command, transport=server.transport())


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report that was signed with the key in the same folder."""
    private, _ = write_key(tmp_path)
    assert judge("--report-dir", str(tmp_path), "--sign", str(private)) == 1
    return tmp_path / "report.json"


def test_a_signed_report_holds_and_says_what_it_covers(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["verify", str(report), "--key", str(tmp_path / "public.pem")]) == 0
    said = capsys.readouterr().out
    provenance = json.loads(report.read_text())["provenance"]
    for part in ("valid:", "http://server", "acme 4.5.6", "not conformant", provenance["cases"]):
        assert part in said
    assert "1 failed" in said


def test_another_layout_of_the_same_report_holds(report: Path, tmp_path: Path) -> None:
    document = json.loads(report.read_text())
    report.write_text(json.dumps(dict(reversed(document.items()))))
    assert main(["verify", str(report), "--key", str(tmp_path / "public.pem")]) == 0


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda made: made["results"].update(failed=0), "it was changed after it was signed"),
        (lambda made: made["cases"][0].update(verdict="pass"), "it was changed after"),
        (lambda made: made.update(note=""), "it was changed after"),
        (lambda made: made["implementation"].update(x=1.25), "it was changed after"),
        (lambda made: made["signature"].update(value="AAAA"), "it was changed after"),
        (lambda made: made["signature"].update(value="?"), "its signature is not in base64"),
        (lambda made: made["signature"].update(algorithm="none"), "its signature is none of"),
        (lambda made: made.update(signature="x"), "its signature is none of ed25519"),
        (lambda made: made.pop("signature"), "it has no signature"),
    ],
)
def test_a_report_that_was_changed_does_not_hold(
    report: Path, tmp_path: Path, edit: Edit, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(report.read_text())
    edit(document)
    report.write_text(json.dumps(document))
    capsys.readouterr()
    assert main(["verify", str(report), "--key", str(tmp_path / "public.pem")]) == 1
    assert capsys.readouterr().out.startswith(f"NOT VALID: {report}: {reason}")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"mode"', '"mode": "strict", "mode"', "an object has a member twice"),
        ("1.5", "1e999", "1e999 is no number"),
        ("{", "", "Extra data"),
        ("{", "[" * 100_000 + "{", "it is nested too deeply"),
    ],
)
def test_what_can_be_read_in_two_ways_does_not_hold(
    report: Path,
    tmp_path: Path,
    old: str,
    new: str,
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report.write_text(report.read_text().replace(old, new, 1))
    capsys.readouterr()
    assert main(["verify", str(report), "--key", str(tmp_path / "public.pem")]) == 1
    assert reason in capsys.readouterr().out


def test_another_key_does_not_hold(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, other = write_key(tmp_path / "other")
    capsys.readouterr()
    assert main(["verify", str(report), "--key", str(other)]) == 1
    assert "another key signed it: " in capsys.readouterr().out


def test_files_that_cannot_be_used_are_misuse(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    other, other_public = write_key(tmp_path / "ec", generate_private_key(SECP256R1()))
    locked, _ = write_key(tmp_path / "locked", how=BestAvailableEncryption(b"x"))
    missing, before = tmp_path / "missing", report.read_bytes()
    for command, reason in (
        (["verify", str(missing), "--key", str(public)], f"cannot read {missing}: No such file"),
        (["verify", str(report), "--key", str(missing)], f"cannot read {missing}: No such file"),
        (["verify", str(report), "--key", str(private)], "has a private key; the public one"),
        (["verify", str(report), "--key", str(report)], "has no public key in PEM"),
        (["verify", str(report), "--key", str(other_public)], "of another kind than ed25519"),
        (["worker", "--json", str(report), "--sign", str(public), "--", "x"], "has no private key"),
        (["worker", "--json", str(report), "--sign", str(other), "--", "x"], "of another kind"),
        (["worker", "--json", str(report), "--sign", str(locked), "--", "x"], "is encrypted"),
        (["worker", "--json", str(report), "--sign", str(missing), "--", "x"], "cannot read"),
        (["worker", "--sign", str(private), "--", "x"], "with --json or --report-dir"),
    ):
        assert main(command) == 2
        assert reason in capsys.readouterr().err
    assert report.read_bytes() == before


def test_without_the_extra_it_is_said_how_to_get_it(
    report: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delitem(sys.modules, "conformance.report.signing")
    monkeypatch.delattr("conformance.report.signing")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for command in (
        ["verify", str(report), "--key", str(tmp_path / "public.pem")],
        ["worker", "--json", str(report), "--sign", str(tmp_path / "private.pem"), "--", "x"],
    ):
        assert main(command) == 2
        assert "pip install 'ojs-reference[signing]'" in capsys.readouterr().err
