"""Tests of the logs of several pods of the fake service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubeconnect import InvalidArgument, LineFilter, LogEvent, NotFound, Unimplemented
from kubeconnect.testing import FakeService


def pod(name: str, *containers: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": "demo", "labels": {"app": name}}
    spec = {"containers": [{"name": each} for each in containers]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture
def fake() -> Iterator[FakeService]:
    with FakeService([pod("web", "main", "proxy"), pod("db", "main")]) as fake:
        fake.write_log("web", "a\nb\n", namespace="demo")
        fake.write_log("web", "p\n", namespace="demo", container="proxy")
        fake.write_log("db", "c\n", namespace="demo")
        fake.write_log("db", "incomplete", namespace="demo")
        yield fake


def lines(fake: FakeService, **options: object) -> list[str]:
    with fake.client().log_lines(namespace="demo", **options) as logs:  # type: ignore[arg-type]
        return [f"{each.pod}/{each.container} {each.text}" for each in logs]


def test_the_lines_of_all_containers_are_in_the_order_of_time(fake: FakeService) -> None:
    assert lines(fake) == ["web/main a", "web/main b", "web/proxy p", "db/main c"]
    assert lines(fake, label_selector="app=db") == ["db/main c"]
    assert lines(fake, container="pr.*") == ["web/proxy p"]
    assert lines(fake, exclude_container="main") == ["web/proxy p"]
    assert lines(fake, name="web", container="main", tail_lines=1) == ["web/main b"]
    assert lines(fake, limit_lines=2) == ["web/main a", "web/main b"]


def test_lines_are_filtered(fake: FakeService) -> None:
    assert lines(fake, line_filter=LineFilter(regex="[bc]")) == ["web/main b", "db/main c"]
    assert lines(fake, line_filter=LineFilter(contains="B", ignore_case=True)) == ["web/main b"]
    inverted = LineFilter(contains="a", invert=True)
    assert lines(fake, container="main", name="web", line_filter=inverted) == ["web/main b"]


def test_followed_logs_continue_after_a_lost_stream_and_with_later_pods(fake: FakeService) -> None:
    events: list[LogEvent] = []
    client = fake.client()
    with client.log_lines(
        namespace="demo", container="main", follow=True, on_event=events.append, timeout=20
    ) as logs:
        assert [next(logs).text for _ in range(3)] == ["a", "b", "c"]
        fake.disconnect()
        fake.write_log("web", "d\n", namespace="demo")
        assert next(logs).text == "d"
        fake.put(pod("new", "main"))
        fake.write_log("new", "e\n", namespace="demo")
        assert next(logs).pod == "new"
    assert {each.pod for each in events} == {"web", "db", "new"}


def test_the_end_of_a_container_is_reported(fake: FakeService) -> None:
    events: list[LogEvent] = []
    fake.write_log("db", "\n", namespace="demo", end=True)
    assert lines(fake, name="db", on_event=events.append) == ["db/main c", "db/main incomplete"]
    assert [(each.type.name, each.reason) for each in events] == [
        ("BEGAN", ""),
        ("ENDED", "Completed"),
    ]


def test_what_is_no_request_is_rejected(fake: FakeService) -> None:
    with pytest.raises(NotFound):
        lines(fake, name="nobody")
    with pytest.raises(InvalidArgument, match="either contains or regex"):
        lines(fake, line_filter=LineFilter())
    with pytest.raises(InvalidArgument, match="invalid regular expression"):
        lines(fake, container="(")
    with pytest.raises(InvalidArgument, match="more than 2 logs"):
        lines(fake, max_logs=2)
    with pytest.raises(Unimplemented, match=r"the fake service .* previous in GetLogLines"):
        lines(fake, previous=True)
