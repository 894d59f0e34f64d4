"""Bearer tokens: fixed, from a function, or from a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

from kubeconnect._address import Address

Metadata: TypeAlias = tuple[tuple[str, str], ...]

T = TypeVar("T")


def token_function(
    address: Address,
    token: str | Callable[[], T] | None,
    token_file: str | os.PathLike[str] | None,
) -> Callable[[], str | T] | None:
    """Return the function that returns the token of each call; None for no token.

    Fixed tokens and files are validated immediately. Raises ValueError if a token would be
    sent to another host in plain text, and OSError if the file cannot be read.
    """
    if token is None and token_file is None:
        return None
    if token is not None and token_file is not None:
        raise ValueError("token and token_file are mutually exclusive: pass one of them")
    if not (address.tls or address.loopback):
        raise ValueError("tokens are not sent over plain text to another host: use https://")
    if token_file is not None:
        return TokenFile(token_file).token
    if callable(token):
        return token
    fixed = checked(token)
    return lambda: fixed


def bearer(token: object) -> Metadata:
    """Return the metadata of a call with this token. Its errors never contain the token."""
    return (("authorization", f"Bearer {checked(token)}"),)


def checked(token: object) -> str:
    """Return the token. Raises TypeError or ValueError if it is invalid."""
    if not isinstance(token, str):
        raise TypeError(f"token must be a str, not {type(token).__name__}")
    if not token or not all("!" <= character <= "~" for character in token):
        raise ValueError("token is empty, or has spaces or other invalid characters")
    return token


class TokenFile:
    """A file with a token. The file is replaced or rewritten when the token is renewed.

    Safe for concurrent use by threads, because the state and the token are one tuple.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Read the file. Raises OSError if it cannot be read, and ValueError if it has no valid
        token.
        """
        self._path = Path(path)
        self._read = self._state(), self._content()

    def token(self) -> str:
        """Return the token. The file is read again only if it has changed.

        While the file cannot be read, or has no valid token, the last token is returned: the
        service decides whether that is still valid.
        """
        known, token = self._read
        try:
            # The state is read first, so that the next call detects a change between the two.
            if (state := self._state()) != known:
                token = self._content()
                self._read = state, token
        except (OSError, ValueError):
            pass
        return token

    def _state(self) -> tuple[int, ...]:
        """Return attributes that differ after the file was written or replaced."""
        stat = self._path.stat()
        return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns

    def _content(self) -> str:
        return checked(self._path.read_text(encoding="ascii", errors="replace").strip())
