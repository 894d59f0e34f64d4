"""Independent watches and counts in one stream, as the stores of the TypeScript client share it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TypeAlias

import grpc

from kubeconnect._errors import KubeconnectError
from kubeconnect.testing._calls import Calls
from kubeconnect.testing._failures import abort, bad_request, status_of
from kubeconnect.testing._selections import Filters
from kubeconnect.testing._streams import MAX_WATCHES, Response, Stream, Watched, begin_watch
from kubeconnect.v1 import watch_counts_pb2, watch_pb2

_Request: TypeAlias = watch_pb2.WatchRequest | watch_counts_pb2.WatchCountsRequest


def watch_independent(
    calls: Calls,
    filters: Filters,
    request: watch_pb2.WatchManyRequest,
    context: grpc.ServicerContext,
) -> Iterator[watch_pb2.WatchManyResponse]:
    """Serve independent watches and counts until the client ends them, or all have ended."""
    requests: list[_Request] = [*map(_watch_of, request.watches), *request.counts]
    with calls.begin(context):
        cuts = calls.faults.cuts
        calls.faults.check_up()
        if request.resume_token:
            raise bad_request("resume_token: independent watches have their own_resume_token")
        if not 1 <= len(requests) <= MAX_WATCHES:
            raise bad_request(f"{len(requests)} watches: give 1 to {MAX_WATCHES} in one stream")
        parts = [_Part(calls, filters, context, *each) for each in enumerate(requests)]
    try:
        while context.is_active() and not all(part.has_ended for part in parts):
            with calls.cluster.changed:
                calls.faults.check_uncut(cuts)
                responses = [response for part in parts for response in part.next()]
                if not responses:
                    due = min(part.due for part in parts if not part.has_ended)
                    calls.cluster.changed.wait(max(due - time.monotonic(), 0.001))
            yield from responses
    except KubeconnectError as error:
        abort(context, error)


class _Part:
    """One of the watches and counts. Guarded by the lock of the cluster."""

    def __init__(
        self,
        calls: Calls,
        filters: Filters,
        context: grpc.ServicerContext,
        index: int,
        request: _Request,
    ) -> None:
        """Begin a watch. An error is its only response."""
        self.has_ended = False
        self._index = index
        self._stream = Stream(calls, context)
        self._error: KubeconnectError | None = None
        self._watched: Watched | None = None
        try:
            self._watched = begin_watch(calls, filters, request, self._stream)
        except KubeconnectError as error:
            self._error = error

    @property
    def due(self) -> float:
        """The time, by the monotonic clock, at which there is a response in any case."""
        return self._watched.due if self._watched else 0.0

    def next(self) -> list[watch_pb2.WatchManyResponse]:
        """Return what there is to send now. The last response before the end is an error."""
        if self.has_ended:
            return []
        try:
            if self._error is not None:
                raise self._error
            assert self._watched is not None
            self._stream.check()
            return [self._response(each) for each in self._watched.next()]
        except KubeconnectError as error:
            self.has_ended = True
            return [watch_pb2.WatchManyResponse(watch_index=self._index, error=status_of(error))]

    def _response(self, response: Response) -> watch_pb2.WatchManyResponse:
        if isinstance(response, watch_counts_pb2.WatchCountsResponse):
            return watch_pb2.WatchManyResponse(watch_index=self._index, counts=response)
        return watch_pb2.WatchManyResponse(watch_index=self._index, response=response)


def _watch_of(spec: watch_pb2.WatchSpec) -> watch_pb2.WatchRequest:
    """Return the request of a watch. The fields of both have the same numbers, except the token."""
    fields = watch_pb2.WatchSpec()
    fields.CopyFrom(spec)
    fields.ClearField("own_resume_token")
    request = watch_pb2.WatchRequest.FromString(fields.SerializeToString())
    request.resume_token = spec.own_resume_token
    return request
