from __future__ import annotations

import os
from pathlib import Path

import grpc
import pytest

from kubeconnect import Object, Resource, Status
from kubeconnect._store_dump import Dump, Part, decode, encode, selection_of, write_file
from kubeconnect.v1 import object_pb2
from kubeconnect.v1 import watch_pb2 as pb
from tests.fake import pod

PODS = Resource("", "v1", "Pod", "pods", True)


def encoded(dump: Dump, selection: str = "s") -> bytes:
    return b"".join(encode(dump, selection))


def one(*objects: Object, token: str | None = "t1") -> Dump:
    return Dump(token, [Part(PODS, "7", objects)])


def test_a_dump_has_the_objects_and_the_token() -> None:
    dump = one(Object(pod("a", spec={"x": "ü"}), PODS), Object(pod("b", namespace=""), PODS))
    decoded = decode(encoded(dump), "s")
    (part,) = decoded.parts
    assert (decoded.token, part.resource, part.resource_version) == ("t1", PODS, "7")
    assert [(each.namespace, each.name, each.uid, each.raw) for each in part.objects] == [
        (each.namespace, each.name, each.uid, each.raw) for each in dump.parts[0].objects
    ]
    assert part.objects[0].resource == PODS


def test_a_dump_has_several_stores() -> None:
    objects = [Object(pod(name), PODS) for name in "abc"]
    dump = Dump(
        None, [Part(PODS, "7", objects[:2]), Part(None, None, []), Part(PODS, "8", objects[2:])]
    )
    decoded = decode(encoded(dump), "s")
    assert decoded.token is None
    assert [[each.name for each in part.objects] for part in decoded.parts] == [
        ["a", "b"],
        [],
        ["c"],
    ]


def test_a_dump_has_objects_without_content() -> None:
    broken = object_pb2.Object(name="a", error=Status(message="broken"))
    empty = object_pb2.Object(name="b")
    decoded = decode(encoded(one(Object(broken, PODS), Object(empty, PODS))), "s")
    errors = [each.error for each in decoded.parts[0].objects]
    assert [str(error) for error in errors] == ["broken", "b was sent without content"]
    assert all(error and error.code is grpc.StatusCode.DATA_LOSS for error in errors)


@pytest.mark.parametrize("length", [0, 5, 60, 200, -33, -1])
def test_an_incomplete_dump_is_rejected(length: int) -> None:
    data = encoded(one(Object(pod("a"), PODS)))
    with pytest.raises(ValueError, match=r"incomplete|not a dump"):
        decode(data[:length], "s")


def test_a_damaged_dump_is_rejected() -> None:
    data = bytearray(encoded(one(Object(pod("a"), PODS))))
    data[len(data) // 2] ^= 1
    with pytest.raises(ValueError, match="incomplete or damaged"):
        decode(bytes(data), "s")


def test_a_dump_of_another_selection_is_rejected() -> None:
    with pytest.raises(ValueError, match="of another selection"):
        decode(encoded(one()), "other")


def test_a_selection_is_independent_of_where_its_watch_begins() -> None:
    plain = pb.WatchRequest(resource="pods")
    begun = pb.WatchRequest(
        resource="pods",
        resume_token="t1",
        min_resource_version="7",
        patch_format=pb.PATCH_FORMAT_JSON,
    )
    several = pb.WatchManyRequest(watches=[pb.WatchSpec(resource="pods")])
    other = pb.WatchRequest(resource="pods", namespace="demo")
    assert selection_of(begun) == selection_of(plain)
    assert len({selection_of(plain), selection_of(several), selection_of(other)}) == 3


def test_a_file_is_replaced_when_it_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "store"
    write_file(file, [b"first"])

    def pieces() -> list[bytes]:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        write_file(file, (piece for _ in [0] for piece in pieces()))
    assert file.read_bytes() == b"first"
    write_file(str(file), [b"sec", b"ond"])
    assert file.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["store"]
    assert file.stat().st_mode & 0o077 == 0
