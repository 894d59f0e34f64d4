"""The format of a dumped store: the objects of a selection and their resume token.

A line with the name of the format, a line of JSON with the selection and the token, each object as
a protobuf message behind its length, and the SHA-256 digest of all that. A dump that is incomplete
or of another selection is not read.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import chain, islice, repeat
from typing import Any, NamedTuple, TypeVar

from kubeconnect._objects import Object, Resource
from kubeconnect._stored import Keep, Stored, to_message
from kubeconnect.v1 import watch_pb2 as pb
from kubeconnect.v1.object_pb2 import Object as Message

Request = TypeVar("Request", pb.WatchRequest, pb.WatchManyRequest)

_FORMAT = b"kubeconnect store 1\n"
_LENGTH = struct.Struct(">I")
_DIGEST_BYTES = hashlib.sha256().digest_size


class Part(NamedTuple):
    """The objects of one store."""

    resource: Resource | None
    resource_version: str | None
    objects: Sequence[Stored]


class Dump(NamedTuple):
    """One or several stores and their resume token."""

    token: str | None
    parts: Sequence[Part]


def selection_of(request: Request) -> str:
    """Return a digest of what a request selects, regardless of where it begins."""
    selection = type(request)()
    selection.CopyFrom(request)
    selection.resume_token = ""
    watches = selection.watches if isinstance(selection, pb.WatchManyRequest) else [selection]
    for watch in watches:
        watch.min_resource_version = ""
        watch.patch_format = pb.PATCH_FORMAT_UNSPECIFIED
    message = selection.SerializeToString(deterministic=True)
    return hashlib.sha256(type(request).__name__.encode() + b"\n" + message).hexdigest()


def encode(dump: Dump, selection: str) -> Iterator[bytes]:
    """Return the encoded dump in pieces."""
    digest = hashlib.sha256()
    for piece in _pieces(dump, selection):
        digest.update(piece)
        yield piece
    yield digest.digest()


def _pieces(dump: Dump, selection: str) -> Iterator[bytes]:
    parts = [
        {
            "resource": part.resource and asdict(part.resource),
            "resource_version": part.resource_version,
            "objects": len(part.objects),
        }
        for part in dump.parts
    ]
    header = {"selection": selection, "token": dump.token, "parts": parts}
    yield _FORMAT + json.dumps(header).encode() + b"\n"
    for part in dump.parts:
        for obj in part.objects:
            message = to_message(obj).SerializeToString()
            yield _LENGTH.pack(len(message)) + message


def decode(data: bytes, selection: str, keeps: Sequence[Keep] = (Object,)) -> Dump:
    """Return the dump. Raises ValueError if it is incomplete, or of another selection.

    ``keeps`` return the objects of its stores; the last one is for all further stores.
    """
    view = memoryview(data)
    content, digest = view[:-_DIGEST_BYTES], view[-_DIGEST_BYTES:]
    if bytes(content[: len(_FORMAT)]) != _FORMAT:
        raise ValueError("it is not a dump of a store in this format")
    if hashlib.sha256(content).digest() != bytes(digest):
        raise ValueError("it is incomplete or damaged")
    end = data.index(b"\n", len(_FORMAT)) + 1
    header = json.loads(data[len(_FORMAT) : end])
    if header["selection"] != selection:
        raise ValueError("it is of another selection")
    messages = _messages(content[end:])
    parts = [
        _part(part, messages, keep)
        for part, keep in zip(header["parts"], chain(keeps, repeat(keeps[-1])), strict=False)
    ]
    return Dump(header["token"], parts)


def _part(header: dict[str, Any], messages: Iterator[Message], keep: Keep) -> Part:
    resource = Resource(**header["resource"]) if header["resource"] else None
    objects = [
        keep(message, resource or Resource("", "", "", "", False))
        for message in islice(messages, header["objects"])
    ]
    return Part(resource, header["resource_version"], objects)


def _messages(content: memoryview) -> Iterator[Message]:
    position = 0
    while position < len(content):
        (length,) = _LENGTH.unpack_from(content, position)
        position += _LENGTH.size
        yield Message.FromString(bytes(content[position : position + length]))
        position += length


def write_file(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    """Replace a file, so that its readers find the complete new or the complete old content.

    Only the owner may read it, because the objects may be secret.
    """
    import tempfile  # slow to import

    folder, name = os.path.split(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with open(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
