"""Tests that run the programs of the README about stores."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from kubeconnect import NotFound
from kubeconnect.v1 import watch_pb2
from tests.fake import Failure, FakeService, batch, event, of_watch, pod
from tests.sync.waiting import eventually

README = Path(__file__).parents[1] / "README.md"
SECTION = README.read_text().split("\n## Store\n")[1].split("\n## ")[0]
STORE, DUMP, SEVERAL = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
GONE = Failure(grpc.StatusCode.NOT_FOUND)


def run(program: str, service: FakeService) -> None:
    exec(program.replace("http://127.0.0.1:8080", service.address), {})


def test_a_store_follows_until_the_resource_is_gone(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = [pod("web", spec={"nodeName": "n1"}), pod("db", spec={"nodeName": "n2"})]
    added = [event(watch_pb2.EVENT_TYPE_ADDED, each, "7") for each in pods]
    service.play([RESET, *added, SYNCED])

    def change() -> None:
        wait_until_printed(capsys, "added db\n")
        changed = pod("web", version="10", spec={"nodeName": "n1"})
        service.play([event(watch_pb2.EVENT_TYPE_MODIFIED, changed, "10")])
        wait_until_printed(capsys, "changed web\n")
        service.play([event(watch_pb2.EVENT_TYPE_DELETED, pods[1], "11")])
        wait_until_printed(capsys, "deleted db\n")
        service.play(GONE)

    printed: list[str] = []

    def wait_until_printed(capsys: pytest.CaptureFixture[str], text: str) -> None:
        def has_printed() -> bool:
            printed.append(capsys.readouterr().out)
            return text in "".join(printed)

        eventually(has_printed)

    with ThreadPoolExecutor(1) as threads:
        changes = threads.submit(change)
        with pytest.raises(NotFound):
            run(STORE, service)
        changes.result(10)
    assert "".join(printed).splitlines() == [
        "2 pods web",
        "n1 as of 9",
        "added web",
        "added db",
        "changed web",
        "deleted db",
    ]


def test_a_store_goes_on_from_its_dump(
    service: FakeService,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    web = event(watch_pb2.EVENT_TYPE_ADDED, pod("web"), "7")
    service.play(batch("t9", RESET, web, SYNCED, kind=True))
    run(DUMP, service)
    assert service.watch_ended.wait(10)
    bookmark = event(watch_pb2.EVENT_TYPE_BOOKMARK, None, "11")
    service.play(batch("t11", event(watch_pb2.EVENT_TYPE_ADDED, pod("db"), "10"), bookmark))
    run(DUMP, service)
    assert [request.resume_token for request in service.requests] == ["", "t9"]
    assert capsys.readouterr().out.splitlines() == [
        *("0 pods of before", "1 pods now"),
        *("1 pods of before", "2 pods now"),
    ]


def test_several_stores_share_a_stream(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    web = event(watch_pb2.EVENT_TYPE_ADDED, pod("web", spec={"nodeName": "n1"}), "7")
    node = event(watch_pb2.EVENT_TYPE_ADDED, pod("n1", namespace=""), "8")
    service.play(of_watch(0, "t1", RESET, web, SYNCED), of_watch(1, "t2", RESET, node, SYNCED))
    run(SEVERAL, service)
    assert capsys.readouterr().out == "n1 1 pods\n"
