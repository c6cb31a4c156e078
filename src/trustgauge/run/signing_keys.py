"""Keys for signing: Ed25519, kept in an encrypted file or an environment variable, and nowhere else."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from trustgauge.errors import MissingPartError, StoreError
from trustgauge.store.folder import map_errors, private_folder, write_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY, PASSPHRASE = "TRUSTGAUGE_SIGNING_KEY", "TRUSTGAUGE_KEY_PASSPHRASE"
"""Environment variables: the private key as PEM, and the passphrase of an encrypted one."""
SHORTEST = 12  # characters of a passphrase
_OF_A_RUN = ("manifest.json", "rating.json", "plan.toml")


def key_id(public: bytes) -> str:
    """What a public key is called: SHA-256 of its 32 bytes, in hex."""
    return hashlib.sha256(public).hexdigest()


def new_key(path: Path, passphrase: str) -> bytes:
    """Make a private key in an encrypted file, and its public key beside it as `.pub`. Returns the latter.

    A folder that is not there is made, for its owner alone.

    Raises:
        StoreError: there is a file already, it would lie in a run folder, or the passphrase is too short.
        MissingPartError: the extra `sign` is not installed.
    """
    _check_place(path)
    public_path = path.with_name(f"{path.name}.pub")
    for one in (path, public_path):
        if one.exists() or one.is_symlink():
            raise StoreError(f"{one} exists", must="a new file", do="Keys are never written over")
    if len(passphrase) < SHORTEST:
        raise StoreError(
            "the passphrase is too short",
            must=f"at least {SHORTEST} characters",
            got=str(len(passphrase)),
            do=f"Type a longer one, or set {PASSPHRASE}",
        )
    _require()
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if not path.parent.exists():
        with map_errors(path):
            private_folder(path.parent)
    private = Ed25519PrivateKey.generate()
    locked = forms.BestAvailableEncryption(passphrase.encode())
    write_file(path, private.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, locked))
    shown = private.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    write_file(public_path, shown, private=False)
    return private.public_key().public_bytes_raw()


def private_key(path: Path | None, passphrase: str | None) -> Ed25519PrivateKey:
    """The key in a file, or without a path that of the environment.

    Raises:
        StoreError: it cannot be read, is not kept as a key must be, or is no Ed25519 key.
        MissingPartError: the extra `sign` is not installed.
    """
    if path is None:
        data = os.environ.get(KEY, "").encode()
        if not data:
            do = f"Name its file with --key, or put it into {KEY}; `trustgauge key FILE` makes one"
            raise StoreError("there is no key to sign with", must="an Ed25519 key", do=do)
        name = KEY
    else:
        name, data = str(path), _read_private(path)
    _require()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if path is not None and b"-----BEGIN ENCRYPTED PRIVATE KEY-----" not in data:
        do = "`openssl pkcs8 -topk8 -in FILE -out NEW` encrypts one, `trustgauge key FILE` makes one"
        raise StoreError(f"{name} is no encrypted key", must="PKCS8 in PEM, encrypted", do=do)
    try:
        found = forms.load_pem_private_key(data, passphrase.encode() if passphrase else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        do = f"See the passphrase, which {PASSPHRASE} may hold"
        raise StoreError(f"{name} cannot be opened", must="a key and its passphrase", do=do) from None
    if not isinstance(found, Ed25519PrivateKey):
        raise StoreError(f"{name} is another kind of key", must="Ed25519", got=type(found).__name__)
    return found


def public_key(path: Path) -> bytes:
    """The 32 bytes of the public key in a PEM file.

    Raises:
        StoreError: it cannot be read, or is no Ed25519 public key.
        MissingPartError: the extra `sign` is not installed.
    """
    _require()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        found = load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise StoreError(f"{path} cannot be read", got=error.strerror or str(error)) from None
    except (ValueError, UnsupportedAlgorithm):
        found = None
    if not isinstance(found, Ed25519PublicKey):
        raise StoreError(f"{path} is no public key", must="an Ed25519 public key in PEM (the .pub file)")
    return found.public_bytes_raw()


def is_signed(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether a signature over a message is by this key. Raises MissingPartError as the others."""
    _require()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _require() -> None:
    try:
        import cryptography  # noqa: F401  only whether it is here
    except ModuleNotFoundError:
        do = 'Install it with `pip install "trustgauge[sign]"`'
        raise MissingPartError("signatures need the package cryptography", do=do) from None


def _check_place(path: Path) -> None:
    """Refuse a place from which a key would be copied, zipped or published with a run."""
    for folder in path.absolute().parents:
        if sum((folder / name).exists() for name in _OF_A_RUN) > 1:
            raise StoreError(
                f"{path} lies in the run folder {folder}",
                must="a place outside of every run, since runs are copied and published",
                do="Keep keys in a folder of their own",
            )


def _read_private(path: Path) -> bytes:
    _check_place(path)
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(1 << 16)
    except OSError as error:
        raise StoreError(f"{path} cannot be read", got=error.strerror or str(error)) from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        got, do = oct(stat.S_IMODE(mode)), f"chmod 600 {path}"
        raise StoreError(f"{path} can be read by others", must="a file for its owner alone", got=got, do=do)
    return data
