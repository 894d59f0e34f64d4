import logging
import os
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from kubeconnect import KubeconnectError, Unauthenticated, WatchSpec
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import watch_pb2 as pb
from tests.aio.waiting import eventually
from tests.fake import Failure, FakeService, batch, event, of_watch
from tests.logs import logged

RESET = event(pb.EVENT_TYPE_RESET, None, "")
SYNCED = event(pb.EVENT_TYPE_SYNCED, None, "9")
BOOKMARK = event(pb.EVENT_TYPE_BOOKMARK, None, "12")
EXPIRED = Failure(grpc.StatusCode.UNAUTHENTICATED, "the credential has expired")


def one_after_another(*tokens: str) -> Callable[[], str]:
    """Return a function that returns these tokens in order, and then the last one repeatedly."""
    rest = list(tokens)
    return lambda: rest.pop(0) if len(rest) > 1 else rest[0]


def sent(service: FakeService) -> list[str]:
    return [str(each["authorization"]).removeprefix("Bearer ") for each in service.metadata]


def replace(file: Path, token: str) -> None:
    """Replace a file atomically, as Kubernetes does."""
    new = file.with_suffix(".new")
    new.write_text(token)
    os.replace(new, file)


async def test_token_function_is_called_for_each_call(service: FakeService) -> None:
    service.play([SYNCED])
    async with AsyncClient(service.address, token=one_after_another("t1", "t2", "t3")) as client:
        await client.list("pods")
        async with client.watch("pods") as events:
            await anext(events)
        await client.list("pods")
    assert sent(service) == ["t1", "t2", "t3"]


async def test_token_file_is_read_when_it_has_changed(service: FakeService, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("t1\n")
    async with AsyncClient(service.address, token_file=file) as client:
        await client.list("pods")
        replace(file, "t2")
        await client.list("pods")
        await client.list("pods")
    assert sent(service) == ["t1", "t2", "t2"]


async def test_missing_token_file_leaves_the_last_token(
    service: FakeService, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("t1")
    async with AsyncClient(service.address, token_file=file) as client:
        file.unlink()
        await client.list("pods")
        file.write_text("")
        await client.list("pods")
        replace(file, "t2")
        await client.list("pods")
    assert sent(service) == ["t1", "t1", "t2"]


async def test_rejected_call_is_retried_with_a_new_token(service: FakeService) -> None:
    service.tokens = {"t2"}
    async with AsyncClient(service.address, token=one_after_another("t1", "t2")) as client:
        assert (await client.list("pods")).total == 0
    assert sent(service) == ["t1", "t2"]


async def test_call_rejected_twice_fails(service: FakeService) -> None:
    service.tokens = set()
    async with AsyncClient(service.address, token=one_after_another("t1", "t2", "t3")) as client:
        with pytest.raises(Unauthenticated):
            await client.list("pods")
    assert sent(service) == ["t1", "t2"]


@pytest.mark.parametrize(
    "token", ["t1", lambda: "t1"], ids=["a fixed token", "the same token as before"]
)
async def test_rejected_token_is_not_retried(
    service: FakeService, token: str | Callable[[], str]
) -> None:
    service.tokens = set()
    async with AsyncClient(service.address, token=token) as client:
        with pytest.raises(Unauthenticated):
            await client.list("pods")
        async with client.watch("pods") as events:
            with pytest.raises(Unauthenticated):
                await anext(events)
    assert sent(service) == ["t1", "t1"]


async def test_rejected_stream_is_reopened_with_a_new_token(
    service: FakeService,
) -> None:
    service.tokens, service.log = {"t2", "t4"}, [b"one\n"]
    service.play([SYNCED])
    tokens = one_after_another("t1", "t2", "t3", "t4")
    async with AsyncClient(service.address, token=tokens) as client:
        async with client.watch("pods") as events:
            await anext(events)
        assert await client.logs("web", namespace="demo").read() == b"one\n"
    assert sent(service) == ["t1", "t2", "t3", "t4"]


async def test_watch_resumes_after_its_token_expires(
    service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.play(batch("p1", RESET, SYNCED), EXPIRED, batch("p2", BOOKMARK), EXPIRED)
    service.play(batch("p3", BOOKMARK))
    caplog.set_level(logging.INFO, "kubeconnect")
    lost: list[tuple[str, float]] = []
    async with (
        AsyncClient(service.address, token=one_after_another("t1", "t2", "t3")) as client,
        client.watch("pods", on_retry=lambda *loss: lost.append((str(loss[0]), loss[1]))) as events,
    ):
        seen = [(await anext(events)).type.name for _ in range(4)]
    assert seen == ["RESET", "SYNCED", "BOOKMARK", "BOOKMARK"]
    assert sent(service) == ["t1", "t2", "t3"]
    assert [request.resume_token for request in service.requests] == ["", "p1", "p2"]
    assert lost == [(EXPIRED.message, 0.0)] * 2
    assert {each.levelname for each in logged(caplog)} == {"INFO"}


async def test_watch_many_resumes_after_its_token_expires(
    service: FakeService, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("t1")
    service.play(of_watch(0, "p1", RESET, SYNCED))
    async with (
        AsyncClient(service.address, token_file=file) as client,
        client.watch_many({"pods": WatchSpec("pods")}) as events,
    ):
        seen = [(await anext(events))[1].type.name for _ in range(2)]
        replace(file, "t2")
        service.play(EXPIRED, of_watch(0, "p2", BOOKMARK))
        seen.append((await anext(events))[1].type.name)
    assert seen == ["RESET", "SYNCED", "BOOKMARK"]
    assert sent(service) == ["t1", "t2"]
    assert [request.resume_token for request in service.requests] == ["", "p1"]


async def test_store_waits_for_a_token_file_that_is_renewed_late(
    service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)
    file = tmp_path / "token"
    file.write_text("t1")
    lost: list[tuple[str, bool]] = []

    def renew_late(error: KubeconnectError, _: float) -> None:
        lost.append((type(error).__name__, pods.stale))
        if len(lost) == 3:
            service.play(batch("p2", BOOKMARK))
            replace(file, "t2")

    service.tokens = {"t1"}
    service.play(batch("p1", RESET, SYNCED))
    async with (
        AsyncClient(service.address, token_file=file) as client,
        client.store("pods", on_retry=renew_late) as pods,
    ):
        await pods.wait_synced()
        service.tokens = {"t2"}
        service.play(EXPIRED)
        await eventually(lambda: pods.resource_version == "12")
        assert pods.error is None
    assert lost == [("Unauthenticated", True)] * 3
    assert sent(service) == ["t1"] * 3 + ["t2"]
    assert service.requests[-1].resume_token == "p1"


async def test_watch_waits_for_a_token_function_that_fails(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)
    fails = [ConnectionError("the issuer is away"), ValueError("no token")]
    calls: list[int] = []

    def token() -> str:
        calls.append(1)
        if len(calls) > 1 and fails:
            raise fails.pop()
        return "t1"

    lost: list[str] = []
    service.play(batch("p1", RESET), EXPIRED, batch("p2", BOOKMARK))
    async with (
        AsyncClient(service.address, token=token) as client,
        client.watch("pods", on_retry=lambda error, _: lost.append(str(error))) as events,
    ):
        seen = [(await anext(events)).type.name for _ in range(2)]
    assert seen == ["RESET", "BOOKMARK"]
    assert lost == [
        "the credential has expired",
        "the token function failed: ValueError: no token",
        "the token function failed: ConnectionError: the issuer is away",
    ]


async def test_watch_with_a_fixed_token_ends_when_it_expires(service: FakeService) -> None:
    service.play(batch("p1", RESET), EXPIRED)
    async with AsyncClient(service.address, token="t1") as client, client.watch("pods") as events:
        await anext(events)
        with pytest.raises(Unauthenticated, match="has expired"):
            await anext(events)
    assert sent(service) == ["t1"]


async def test_raises_the_error_of_the_token_function(service: FakeService) -> None:
    def fails() -> str:
        raise PermissionError("no token for you")

    async with AsyncClient(service.address, token=fails) as client:
        with pytest.raises(PermissionError, match="no token for you"):
            await client.list("pods")
        with pytest.raises(PermissionError, match="no token for you"):
            await anext(client.watch("pods"))
    assert service.metadata == []


@pytest.mark.parametrize("token", ["", "two words", "line\n", "ümlaut", 7])
async def test_token_function_must_return_a_token(service: FakeService, token: str) -> None:
    async with AsyncClient(service.address, token=lambda: token) as client:
        with pytest.raises((ValueError, TypeError), match=r"token (is|must be)") as caught:
            await client.list("pods")
    assert not token or str(token) not in str(caught.value)
    assert service.metadata == []


async def test_tokens_are_not_sent_in_plain_text_to_another_host(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret")
    with pytest.raises(ValueError, match="plain text"):
        AsyncClient("http://example.com", token_file=file)
    with pytest.raises(ValueError, match="plain text"):
        AsyncClient("http://example.com", token=lambda: "s3cret")


async def test_token_file_must_contain_a_token_at_first(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with pytest.raises(FileNotFoundError):
        AsyncClient("127.0.0.1:1", token_file=file)
    file.write_text("s3cret words")
    with pytest.raises(ValueError, match="has spaces") as caught:
        AsyncClient("127.0.0.1:1", token_file=file)
    assert "s3cret" not in str(caught.value)
    with pytest.raises(ValueError, match="mutually exclusive"):
        AsyncClient("127.0.0.1:1", token_file=file, token="t1")
