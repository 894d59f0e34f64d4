"""Calls that block, and servers that never respond."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc
from google.rpc import status_pb2 as rpc_status

from kubeconnect import aio
from kubeconnect.v1.status_pb2 import Status
from tests.fake import THREADS

LIMIT_SECONDS = 20.0
"""The time after which a call that has not ended fails its test."""

PARKED_POLLS = 5
"""The number of times that a thread is seen at the same place before it counts as blocked."""


class _Silent(grpc.GenericRpcHandler):
    """Accepts all calls, and sends no message."""

    def __init__(self, respond: Callable[[grpc.ServicerContext], None]) -> None:
        self._respond = respond

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        return grpc.unary_stream_rpc_method_handler(self._wait)

    def _wait(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        ended = threading.Event()
        active = context.add_callback(ended.set)
        self._respond(context)
        if active:
            ended.wait()
        return iter(())


@contextmanager
def _without_collection() -> Iterator[None]:
    """Collect garbage now, and none until the end.

    grpcio closes a channel that is garbage where it is collected, and waits for its calls there.
    A thread of a server that collects it holds the lock of that server, which the calls need to
    end.
    """
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _served(respond: Callable[[grpc.ServicerContext], None]) -> Iterator[str]:
    with _without_collection(), ThreadPoolExecutor(200, THREADS) as threads:
        server = grpc.server(threads, handlers=[_Silent(respond)])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"http://127.0.0.1:{port}"
        server.stop(None).wait()


def _accepts(context: grpc.ServicerContext) -> None:
    """Send nothing."""


def _sends_headers(context: grpc.ServicerContext) -> None:
    context.send_initial_metadata(())


def _throttles(context: grpc.ServicerContext) -> None:
    """Reject the call with a retry delay of an hour."""
    status = Status(reason="TooManyRequests", retry_after_seconds=3600)
    packed = rpc_status.Status(code=grpc.StatusCode.RESOURCE_EXHAUSTED.value[0], message="no")
    packed.details.add().Pack(status)
    context.set_trailing_metadata((("grpc-status-details-bin", packed.SerializeToString()),))
    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no")


@contextmanager
def _socket() -> Iterator[str]:
    """Accept connections without a reply, so that not even the handshake of HTTP/2 succeeds."""
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


SERVERS: dict[str, Callable[[], Any]] = {
    "accepts calls": lambda: _served(_accepts),
    "sends headers": lambda: _served(_sends_headers),
    "throttles calls": lambda: _served(_throttles),
    "accepts connections": _socket,
}


def blocking_calls() -> set[str]:
    """Return the names of all public functions and methods that may block: those that have to be
    awaited with asyncio. ``__aenter__`` is called "enter", and so on.
    """
    found = set()
    for exported in map(vars(aio).get, aio.__all__):
        if inspect.isclass(exported):
            name = exported.__name__.removeprefix("Async")
            found |= {f"{name}.{method}" for method in _awaited(exported)}
        elif inspect.iscoroutinefunction(exported):
            found.add(exported.__name__)
    return found


def _awaited(cls: type) -> Iterator[str]:
    for name, function in inspect.getmembers(cls):
        special = name.startswith("__a") and name.endswith("__")
        if (special or not name.startswith("_")) and (
            inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        ):
            yield name[3:-2] if special else name


class Blocked:
    """A call that runs in a thread of its own."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="blocked call", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:
            self._error = error

    def parked(self) -> None:
        """Wait until the call blocks."""
        _until_parked(self._thread)

    def result(self) -> BaseException | None:
        """Wait for the end of the call, and return the exception that it raised."""
        self._thread.join(LIMIT_SECONDS)
        assert not self._thread.is_alive(), f"the call has not ended; it is at {_at(self._thread)}"
        return self._error

    @staticmethod
    def interrupted(call: Callable[[], object]) -> BaseException | None:
        """Make a call in this thread, interrupt it as Ctrl-C does when it blocks, and return the
        exception that it raised.
        """
        begun, ended = threading.Event(), threading.Event()
        caller = threading.current_thread()
        thread = threading.Thread(target=_interrupt, args=(caller, begun, ended))
        thread.start()
        error: BaseException | None = None
        try:
            begun.set()
            call()
        except BaseException as raised:
            error = raised
        ended.set()
        thread.join()
        return error


def _interrupt(thread: threading.Thread, begun: threading.Event, ended: threading.Event) -> None:
    begun.wait()  # before that, the thread blocks until this one has started
    _until_parked(thread)
    if ended.is_set():
        return
    os.kill(os.getpid(), signal.SIGINT)
    if not ended.wait(LIMIT_SECONDS):  # fail, instead of blocking for ever
        sys.stderr.write(f"the interrupted call is at {_at(thread)}\n")
        os.abort()


def _until_parked(thread: threading.Thread) -> None:
    seen, same = None, 0
    while thread.is_alive() and same < PARKED_POLLS:
        frame = sys._current_frames().get(thread.ident or 0)
        at = frame and (frame.f_code, frame.f_lasti, frame.f_back and frame.f_back.f_lasti)
        seen, same = at, same + 1 if at == seen and _sleeps(thread) else 0
        time.sleep(0.001)


def _sleeps(thread: threading.Thread) -> bool:
    """Report whether a thread waits, and not only for a processor: on a busy machine, a thread that
    is about to make a call can be at one place for long, and an interrupt there is another test.
    """
    try:
        stat = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
    except OSError:  # not on Linux, or the thread has ended
        return True
    return stat.rpartition(")")[2].split()[0] == "S"


def _at(thread: threading.Thread) -> str:
    frame, places = sys._current_frames().get(thread.ident or 0), []
    while frame is not None:
        places.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        frame = frame.f_back
    return "\n".join(places)


class AsyncBlocked:
    """A call that runs in a task of its own."""

    def __init__(self, call: Callable[[], Awaitable[object]]) -> None:
        async def run() -> None:
            await call()

        self._task = asyncio.create_task(run(), name="blocked call")

    async def parked(self) -> None:
        """Wait until the call blocks."""
        for _ in range(PARKED_POLLS):
            await asyncio.sleep(0.001)

    async def result(self) -> BaseException | None:
        """Wait for the end of the call, and return the exception that it raised."""
        _, pending = await asyncio.wait([self._task], timeout=LIMIT_SECONDS)
        assert not pending, f"the call has not ended; it is at {self._task.get_stack()}"
        if self._task.cancelled():
            return asyncio.CancelledError()
        return self._task.exception()

    @staticmethod
    async def interrupted(call: Callable[[], Awaitable[object]]) -> BaseException | None:
        """Make a call, cancel it when it blocks, and return the exception that it raised."""
        blocked = AsyncBlocked(call)
        await blocked.parked()
        blocked._task.cancel()
        return await blocked.result()


class NothingLeft:
    """Fails a test if a thread that was started within it is left behind."""

    def __enter__(self) -> None:
        self._before = set(threading.enumerate())

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc is not None:
            return
        end = time.monotonic() + LIMIT_SECONDS
        while left := self._left():
            assert time.monotonic() < end, f"threads are left: {left}"
            time.sleep(0.001)

    def _left(self) -> list[str]:
        threads = set(threading.enumerate()) - self._before
        return [each.name for each in threads if not each.name.startswith(THREADS)]


class AsyncNothingLeft:
    """Fails a test if a task that was started within it is left behind."""

    async def __aenter__(self) -> None:
        self._before = asyncio.all_tasks()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc is not None:
            return
        end = time.monotonic() + LIMIT_SECONDS
        while left := asyncio.all_tasks() - self._before:
            assert time.monotonic() < end, f"tasks are left: {left}"
            await asyncio.sleep(0.001)
