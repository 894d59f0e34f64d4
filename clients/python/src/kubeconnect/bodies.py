"""What a write sends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

ObjectBody: TypeAlias = Mapping[str, Any] | str | bytes
"""A mapping, sent as JSON; or JSON or YAML as text, which is passed on as it is."""

PatchBody: TypeAlias = Mapping[str, Any] | Sequence[Any] | str | bytes
"""A mapping or a list, sent as JSON; or text that is already JSON or YAML."""


def encode_body(body: PatchBody) -> bytes:
    """Return the bytes to send; text is sent as it is, in UTF-8.

    Raises TypeError or ValueError for what JSON cannot say.
    """
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    text = json.dumps(body, default=_plain, ensure_ascii=False, allow_nan=False)
    return text.encode()


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"what is sent cannot contain a {type(value).__name__}")
