"""The bearer token of each call, and where a new one comes from."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

from kubeconnect.address import Address

Metadata: TypeAlias = tuple[tuple[str, str], ...]

T = TypeVar("T")


def token_function(
    address: Address,
    token: str | Callable[[], T] | None,
    token_file: str | os.PathLike[str] | None,
) -> Callable[[], str | T] | None:
    """Return the function that returns the token of the next call; None for no token.

    A fixed token and a file are checked at once. Raises ValueError where a token would go
    to another host in plain text, and OSError where the file cannot be read.
    """
    if token is None and token_file is None:
        return None
    if token is not None and token_file is not None:
        raise ValueError("token and token_file exclude each other: give one of them")
    if not (address.tls or address.loopback):
        raise ValueError("a token is not sent over plain text to another host: write https://")
    if token_file is not None:
        return TokenFile(token_file).token
    if callable(token):
        return token
    fixed = checked(token)
    return lambda: fixed


def bearer(token: object) -> Metadata:
    """Return the metadata of a call with this token. Its errors never repeat the token."""
    return (("authorization", f"Bearer {checked(token)}"),)


def checked(token: object) -> str:
    """Return the token, or raise ValueError or TypeError where it cannot be one."""
    if not isinstance(token, str):
        raise TypeError(f"a token is a str, not {type(token).__name__}")
    if not token or not all("!" <= character <= "~" for character in token):
        raise ValueError("the token is empty, or has spaces or other characters that none has")
    return token


class TokenFile:
    """A file that holds a token, and is replaced when that is renewed.

    Safe for concurrent use by threads: what is known of the file is one tuple.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Read the file. Raises OSError or ValueError where it holds no token."""
        self._path = Path(path)
        self._read = self._state(), self._content()

    def token(self) -> str:
        """Return the token. The file is read again only if it has changed.

        While the file cannot be read, or holds no token, the last token is returned: the
        service decides whether that is still valid.
        """
        known, token = self._read
        try:
            # The state comes first: a change between the two is found by the next call.
            if (state := self._state()) != known:
                token = self._content()
                self._read = state, token
        except (OSError, ValueError):
            pass
        return token

    def _state(self) -> tuple[int, ...]:
        """Return what differs after the file was written or replaced."""
        stat = self._path.stat()
        return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns

    def _content(self) -> str:
        return checked(self._path.read_text(encoding="ascii", errors="replace").strip())
