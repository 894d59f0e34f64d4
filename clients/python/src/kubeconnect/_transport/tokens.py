"""Bearer tokens: fixed, from a function, or from a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kubeconnect._address import Address
from kubeconnect._transport.files import FilePath, file_state
from kubeconnect._transport.identity import Metadata

T = TypeVar("T")


def check_confidential(address: Address) -> None:
    """Raise ValueError if a token would be sent to another host in plain text."""
    if not (address.tls or address.loopback):
        raise ValueError("tokens are not sent over plain text to another host: use https://")


def token_function(token: str | Callable[[], T]) -> Callable[[], str | T]:
    """Return the function that returns the token of each call. A fixed token is validated
    immediately.
    """
    if callable(token):
        return token
    fixed = checked(token)
    return lambda: fixed


def without_timeout(function: Callable[[], T]) -> Callable[[float | None], T]:
    """Return a function that ignores its argument, the timeout of a call."""
    return lambda _: function()


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

    def __init__(self, path: FilePath) -> None:
        """Read the file. Raises OSError if it cannot be read, and ValueError if it has no valid
        token.
        """
        self._path = Path(path)
        self._read = file_state(self._path), self._content()

    def token(self) -> str:
        """Return the token. The file is read again only if it has changed.

        While the file cannot be read, or has no valid token, the last token is returned: the
        service decides whether that is still valid.
        """
        known, token = self._read
        try:
            # The state is read first, so that the next call detects a change between the two.
            if (state := file_state(self._path)) != known:
                token = self._content()
                self._read = state, token
        except (OSError, ValueError):
            pass
        return token

    def _content(self) -> str:
        return checked(self._path.read_text(encoding="ascii", errors="replace").strip())
