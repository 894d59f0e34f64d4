"""The bodies of writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

ObjectBody: TypeAlias = Mapping[str, Any] | str | bytes
"""A mapping, which is sent as JSON, or JSON or YAML as text, which is sent unchanged."""

PatchBody: TypeAlias = Mapping[str, Any] | Sequence[Any] | str | bytes
"""A mapping or a list, which is sent as JSON, or JSON or YAML as text, which is sent unchanged."""


def encode_body(body: PatchBody) -> bytes:
    """Return the bytes to send. Text is encoded as UTF-8, unchanged otherwise.

    Raises TypeError or ValueError for a value that JSON cannot represent.
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
    raise TypeError(f"the body contains a {type(value).__name__}, which JSON cannot represent")
