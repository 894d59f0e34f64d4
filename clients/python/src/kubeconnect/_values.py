"""Conversion of protobuf's Value and Struct to JSON values."""

from __future__ import annotations

from typing import Any

from google.protobuf.struct_pb2 import Struct, Value


def plain(value: Value) -> Any:
    """Return a value as ``json`` would decode it. Whole numbers are int."""
    kind = value.WhichOneof("kind")
    if kind == "number_value":
        return int(value.number_value) if value.number_value.is_integer() else value.number_value
    if kind == "struct_value":
        return plain_dict(value.struct_value)
    if kind == "list_value":
        return [plain(each) for each in value.list_value.values]
    return None if kind in (None, "null_value") else getattr(value, kind)


def plain_dict(struct: Struct) -> dict[str, Any]:
    """Return a Struct as ``json`` would decode it."""
    return {key: plain(value) for key, value in struct.fields.items()}
