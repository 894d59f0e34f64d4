"""Page tokens and resume tokens."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from kubeconnect.testing._failures import bad_request


def write_token(*parts: Any) -> str:
    """Return the token with these values, which are strings, numbers and lists."""
    text = json.dumps(parts).encode()
    return base64.urlsafe_b64encode(_check(text) + text).decode().rstrip("=")


def read_token(parameter: str, token: str, advice: str) -> list[Any]:
    """Return the values of a token. Raises InvalidArgument, with the name of the parameter and the
    advice, if it is not one.
    """
    try:
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        if data[:6] != _check(data[6:]):
            raise ValueError(token)
        parts: list[Any] = json.loads(data[6:])
    except ValueError as problem:
        raise bad_request(f"invalid {parameter}: truncated or modified; {advice}") from problem
    return parts


def _check(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:6]
