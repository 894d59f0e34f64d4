"""The streams of Watch, WatchMany and WatchCounts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias, TypeVar

import grpc

from kubeconnect._errors import KubeconnectError
from kubeconnect.testing._calls import Calls
from kubeconnect.testing._count_watching import CountWatcher
from kubeconnect.testing._failures import abort, bad_request, unsupported
from kubeconnect.testing._joining import joins_of
from kubeconnect.testing._paging import PageWatcher, check_no_page
from kubeconnect.testing._selections import Filters, Selection, selection_of
from kubeconnect.testing._tokens import read_token, write_token
from kubeconnect.testing._watching import Position, Watcher, check_patches
from kubeconnect.v1 import watch_counts_pb2, watch_pb2

MAX_WATCHES = 100
_ADVICE = "watch without it"
_BATCH_BYTES = 1 << 20

Response: TypeAlias = watch_pb2.WatchResponse | watch_counts_pb2.WatchCountsResponse

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Source(Protocol[R_co]):
    """What has responses to send."""

    @property
    def due(self) -> float:
        """The time, by the monotonic clock, at which there is a response in any case."""

    def next(self) -> R_co | None:
        """Return what there is to send now; None if there is nothing."""


def watch(
    calls: Calls,
    filters: Filters,
    request: watch_pb2.WatchRequest | watch_counts_pb2.WatchCountsRequest,
    context: grpc.ServicerContext,
) -> Iterator[Any]:
    """Serve one watch, of objects or of counts, until its client ends it."""
    with calls.begin(context):
        stream = Stream(calls, context)
        watched = begin_watch(calls, filters, request, stream)
    yield from stream.each(watched)


class Watched:
    """One watch, of objects, of a page or of counts, with its own resume token."""

    def __init__(self, source: Source[Response], token: Callable[[], str]) -> None:
        """Return the responses of a source. ``token`` resumes after what it has returned."""
        self._source = source
        self._token = token

    @property
    def due(self) -> float:
        """The time, by the monotonic clock, at which there is a response in any case."""
        return self._source.due

    def next(self) -> list[Response]:
        """Return what there is to send now, in messages that are not too large."""
        response = self._source.next()
        if not isinstance(response, watch_pb2.WatchResponse):
            return [] if response is None else [response]
        parts = [response] if response.HasField("page") else list(_split(response))
        parts[-1].resume_token = self._token()
        return [*parts]


def begin_watch(
    calls: Calls,
    filters: Filters,
    request: watch_pb2.WatchRequest | watch_counts_pb2.WatchCountsRequest,
    stream: Stream,
) -> Watched:
    """Begin a watch. The lock of the cluster must be held."""
    cluster, heartbeat = calls.cluster, calls.heartbeat
    selection = stream.select(request, filters)
    if isinstance(request, watch_counts_pb2.WatchCountsRequest):
        return Watched(CountWatcher(cluster, selection, request, heartbeat), lambda: "")
    parts = None
    if not request.limit:
        check_no_page(request)
    if request.resume_token:
        parts = read_token("resume_token", request.resume_token, _ADVICE)
    if request.limit:
        have = None if parts is None else _page_of(parts, selection)
        joins = joins_of(calls, filters, selection.resource, request)
        page = PageWatcher(cluster, selection, request, heartbeat, have, joins)
        return Watched(page, lambda: write_token("page", selection.digest, page.token))
    position = None if parts is None else _resumed(parts, "watch", [selection])[0]
    watcher = Watcher(cluster, selection, request.encoding, heartbeat, position)
    return Watched(watcher, lambda: write_token("watch", [selection.digest], [watcher.position]))


def watch_many(
    calls: Calls,
    filters: Filters,
    request: watch_pb2.WatchManyRequest,
    context: grpc.ServicerContext,
) -> Iterator[watch_pb2.WatchManyResponse]:
    """Serve several watches until their client ends them."""
    with calls.begin(context):
        stream = Stream(calls, context)
        if not 1 <= len(request.watches) <= MAX_WATCHES:
            raise bad_request(
                f"{len(request.watches)} watches: give 1 to {MAX_WATCHES} in one stream"
            )
        selections = []
        for number, spec in enumerate(request.watches):
            try:
                check_no_page(spec)
                if spec.limit:
                    raise unsupported("a page in WatchMany")
                selections.append(stream.select(spec, filters))
            except KubeconnectError as error:
                raise _of_watch(error, number, spec.resource) from error
        positions: list[Position | None] = [None] * len(selections)
        if request.resume_token:
            parts = read_token("resume_token", request.resume_token, _ADVICE)
            positions = _resumed(parts, "many", selections)
        for selection, spec, position in zip(selections, request.watches, positions, strict=True):
            stream.add(selection, spec, position)
    digests = [selection.digest for selection in selections]
    for number, response, positions in stream.responses():
        yield watch_pb2.WatchManyResponse(
            watch_index=number,
            response=response,
            resume_token=write_token("many", digests, positions),
        )


def _of_watch(error: KubeconnectError, number: int, resource: str) -> KubeconnectError:
    message = f"watch {number} ({resource}): {error.message}"
    return type(error)(error.code, message, error.status)


def _resumed(parts: list[object], kind: str, selections: list[Selection]) -> list[Position | None]:
    """Return the positions of a token, by watch."""
    digests = [selection.digest for selection in selections]
    match parts:
        case [str(found), list(of), list(positions)] if found == kind and of == digests:
            return [None if each is None else (each[0], each[1]) for each in positions]
    raise _of_other_watch()


def _page_of(parts: list[object], selection: Selection) -> list[Any]:
    """Return the page that the client of a token has."""
    match parts:
        case ["page", str(digest), list(page)] if digest == selection.digest:
            return page
    raise _of_other_watch()


def _of_other_watch() -> KubeconnectError:
    return bad_request(
        "resume_token belongs to another watch: resource, namespace, name, selectors, filter, "
        "fields, order and relation must be the same"
    )


class Stream:
    """The watches of one stream."""

    def __init__(self, calls: Calls, context: grpc.ServicerContext) -> None:
        """Begin without watches. The lock of the cluster must be held."""
        self._calls = calls
        self._cluster = calls.cluster
        self._context = context
        self._cuts = calls.faults.cuts
        self._selections: list[Selection] = []
        self._watchers: list[Watcher] = []
        context.add_callback(self._wake)

    def _wake(self) -> None:
        with self._cluster.changed:
            self._cluster.changed.notify_all()

    def select(
        self,
        request: watch_pb2.WatchRequest | watch_pb2.WatchSpec | watch_counts_pb2.WatchCountsRequest,
        filters: Filters,
    ) -> Selection:
        """Return the selection of a watch that may begin."""
        self._calls.resource("watch", request.resource, request.namespace)
        self._calls.await_version(request.min_resource_version, self._context)
        if not isinstance(request, watch_counts_pb2.WatchCountsRequest):
            check_patches(request)
        selection = selection_of(self._cluster, request, filters)
        self._selections.append(selection)
        return selection

    def add(
        self,
        selection: Selection,
        request: watch_pb2.WatchRequest | watch_pb2.WatchSpec,
        position: Position | None,
    ) -> None:
        """Add a watch."""
        heartbeat = self._calls.heartbeat
        watcher = Watcher(self._cluster, selection, request.encoding, heartbeat, position)
        self._watchers.append(watcher)

    def responses(
        self,
    ) -> Iterator[tuple[int, watch_pb2.WatchResponse, list[Position | None]]]:
        """Iterate over the responses, each with the index of its watch and the positions of all
        watches after it.
        """
        sent: list[Position | None] = [None] * len(self._watchers)
        try:
            while self._context.is_active():
                with self._cluster.changed:
                    pending = self._pending()
                for number, responses, position in pending:
                    sent[number] = None
                    for response in responses[:-1]:
                        yield number, response, list(sent)
                    sent[number] = position
                    yield number, responses[-1], list(sent)
        except KubeconnectError as error:
            abort(self._context, error)

    def _pending(self) -> list[tuple[int, list[watch_pb2.WatchResponse], Position | None]]:
        """Wait until there is something to send, and return it by watch."""
        return self._wait(self._all, lambda: min(watcher.due for watcher in self._watchers)) or []

    def _all(self) -> list[tuple[int, list[watch_pb2.WatchResponse], Position | None]]:
        pending = []
        for number, watcher in enumerate(self._watchers):
            if (response := watcher.next()) is not None:
                pending.append((number, list(_split(response)), watcher.position))
        return pending

    def each(self, watched: Watched) -> Iterator[Response]:
        """Iterate over the responses of the only watch."""
        try:
            while self._context.is_active():
                with self._cluster.changed:
                    responses = self._wait(watched.next, lambda: watched.due)
                yield from responses or ()
        except KubeconnectError as error:
            abort(self._context, error)

    def _wait(self, take: Callable[[], R | None], due: Callable[[], float]) -> R | None:
        """Wait until a function returns something, and return it; None if the stream has ended."""
        while self._context.is_active():
            self.check()
            if found := take():
                return found
            self._cluster.changed.wait(max(due() - time.monotonic(), 0.001))
        return None

    def check(self) -> None:
        """Raise the error that ends the stream."""
        self._calls.faults.check_uncut(self._cuts)
        for selection in self._selections:
            self._calls.faults.check_permission("watch", selection.resource, selection.namespace)


def _split(response: watch_pb2.WatchResponse) -> Iterator[watch_pb2.WatchResponse]:
    """Iterate over the parts of a response that is too large for one message."""
    events = list(response.events)
    response.ClearField("events")
    part, size = watch_pb2.WatchResponse(), 0
    part.MergeFrom(response)
    part.ClearField("freshness")
    for event in events:
        size += event.ByteSize()
        if part.events and size > _BATCH_BYTES:
            yield part
            part, size = watch_pb2.WatchResponse(), event.ByteSize()
        part.events.append(event)
    if response.HasField("freshness"):
        part.freshness.CopyFrom(response.freshness)
    yield part
