"""The secret key of an installation: given from outside, or kept in a file beside the SQLite database."""

import os
import secrets
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from core import env

FILE_NAME = "secret_key"
_LEAST_LENGTH = 32
_HOW_TO_MAKE_ONE = 'python3 -c "import secrets; print(secrets.token_urlsafe(48))"'


def secret_key(database_file: Path | None, *, required: bool) -> str:
    """The key to run with; `database_file` is the SQLite file, None for one in memory or for PostgreSQL.

    Order: SECRET_KEY or SECRET_KEY_FILE; the file beside the database, made when the database is there
    but the key is not; and before there is any database a key that only this process knows, so that
    `--help` and `check` leave nothing behind. Raises ImproperlyConfigured when a key must be given.
    """
    given = env.secret("SECRET_KEY")
    if given is not None:
        if len(given) < _LEAST_LENGTH:
            raise ImproperlyConfigured(
                f"SECRET_KEY has {len(given)} characters; allowed are {_LEAST_LENGTH} or more. "
                f"Make one with: {_HOW_TO_MAKE_ONE}"
            )
        return given
    if required:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set; it must be given with PostgreSQL (as SECRET_KEY, or in a file named by "
            f"SECRET_KEY_FILE), the same for every process. Make one with: {_HOW_TO_MAKE_ONE}"
        )
    if database_file is not None and (database_file.exists() or path_beside(database_file).exists()):
        return kept_key(database_file)
    return secrets.token_urlsafe(48)


def path_beside(database_file: Path) -> Path:
    """Where the key of this SQLite database is kept."""
    return database_file.parent / FILE_NAME


def kept_key(database_file: Path) -> str:
    """The key beside the database, made now if there is none; its folder must exist.

    Raises ImproperlyConfigured when the file can be neither read nor made, or holds no usable key.
    """
    path = path_beside(database_file)
    try:
        if not path.exists():
            _make(path)
        key = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(
            f"The secret key file {path} cannot be used: {error}. Make it readable for this user, or give "
            "SECRET_KEY."
        ) from error
    if len(key) < _LEAST_LENGTH:
        raise ImproperlyConfigured(
            f"The secret key file {path} holds {len(key)} characters, fewer than {_LEAST_LENGTH}; "
            "remove it and a new one is made (people then have to sign in again)."
        )
    return key


def _make(path: Path) -> None:
    # Two processes may start at once. Each writes a whole key under a name of its own (made with mode
    # 0600), and linking it to the real name works for exactly one of them: nobody ever reads half a key,
    # and the loser uses the winner's.
    descriptor, temporary = tempfile.mkstemp(prefix=".secret_key.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
        except OSError:
            # A file system without hard links: fall back to a create that fails if it is there already.
            _copy_exclusively(Path(temporary), path)
    finally:
        Path(temporary).unlink()


def _copy_exclusively(source: Path, path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "wb") as file:
        file.write(source.read_bytes())
