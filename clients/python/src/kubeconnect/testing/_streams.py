"""The streams of Watch and WatchMany."""

from __future__ import annotations

import time
from collections.abc import Iterator

import grpc

from kubeconnect._errors import KubeconnectError, Unavailable
from kubeconnect.testing._calls import Calls
from kubeconnect.testing._failures import abort, bad_request
from kubeconnect.testing._selections import Filters, Selection, selection_of
from kubeconnect.testing._tokens import read_token, write_token
from kubeconnect.testing._watching import Position, Watcher, check_patches
from kubeconnect.v1 import watch_pb2

MAX_WATCHES = 100
_ADVICE = "watch without it"
_BATCH_BYTES = 1 << 20


def watch(
    calls: Calls,
    filters: Filters,
    request: watch_pb2.WatchRequest,
    context: grpc.ServicerContext,
) -> Iterator[watch_pb2.WatchResponse]:
    """Serve one watch until its client ends it."""
    with calls.begin(context):
        stream = Stream(calls, context)
        selection = stream.select(request, filters)
        position = None
        if request.resume_token:
            parts = read_token("resume_token", request.resume_token, _ADVICE)
            position = _resumed(parts, "watch", [selection])[0]
        stream.add(selection, request, position)
    for _, response, positions in stream.responses():
        if positions:
            response.resume_token = write_token("watch", [selection.digest], positions)
        yield response


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
    raise bad_request(
        "resume_token belongs to another watch: resource, namespace, name, selectors, filter, "
        "fields and relation must be the same"
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
        self, request: watch_pb2.WatchRequest | watch_pb2.WatchSpec, filters: Filters
    ) -> Selection:
        """Return the selection of a watch that may begin."""
        self._calls.resource("watch", request.resource, request.namespace)
        self._calls.await_version(request.min_resource_version, self._context)
        check_patches(request)
        return selection_of(self._cluster, request, filters)

    def add(
        self,
        selection: Selection,
        request: watch_pb2.WatchRequest | watch_pb2.WatchSpec,
        position: Position | None,
    ) -> None:
        """Add a watch."""
        self._selections.append(selection)
        heartbeat = self._calls.heartbeat
        watcher = Watcher(self._cluster, selection, request.encoding, heartbeat, position)
        self._watchers.append(watcher)

    def responses(
        self,
    ) -> Iterator[tuple[int, watch_pb2.WatchResponse, list[Position | None]]]:
        """Iterate over the responses, each with the index of its watch and the positions of all
        watches after it; empty if there is none within this watch.
        """
        sent: list[Position | None] = [None] * len(self._watchers)
        try:
            while self._context.is_active():
                with self._cluster.changed:
                    pending = self._pending()
                for number, responses, position in pending:
                    sent[number] = None
                    for response in responses[:-1]:
                        yield number, response, [] if len(sent) == 1 else list(sent)
                    sent[number] = position
                    yield number, responses[-1], list(sent)
        except KubeconnectError as error:
            abort(self._context, error)

    def _pending(self) -> list[tuple[int, list[watch_pb2.WatchResponse], Position | None]]:
        """Wait until there is something to send, and return it by watch."""
        while self._context.is_active():
            self._check()
            pending = []
            for number, watcher in enumerate(self._watchers):
                if (response := watcher.next()) is not None:
                    pending.append((number, list(_split(response)), watcher.position))
            if pending:
                return pending
            due = min(watcher.due for watcher in self._watchers)
            self._cluster.changed.wait(max(due - time.monotonic(), 0.001))
        return []

    def _check(self) -> None:
        """Raise the error that ends the stream."""
        self._calls.faults.check_up()
        if self._cuts != self._calls.faults.cuts:
            raise Unavailable(grpc.StatusCode.UNAVAILABLE, "the fake service has cut the stream")
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
