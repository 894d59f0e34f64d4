"""Traces of OpenTelemetry, and the headers that continue them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, TraceFlags, TraceState

from tests.fake import FakeService

TRACER = TracerProvider().get_tracer("tests")  # not the global one, which tests cannot replace


def parent(span: Span) -> str:
    """Return the header of calls below a span."""
    found = span.get_span_context()
    return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"


def parents(service: FakeService) -> list[str | bytes | None]:
    """Return the header of each call that the service has received; None if it had none."""
    return [each.get("traceparent") for each in service.metadata]


@contextmanager
def remote_span(state: TraceState, flags: int = 0) -> Iterator[None]:
    """Make the span 2 of the trace 1 current."""
    remote = SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(flags), trace_state=state)
    with trace.use_span(NonRecordingSpan(remote)):
        yield


@contextmanager
def baggage_of(name: str, value: str) -> Iterator[None]:
    """Make baggage current."""
    token = context.attach(baggage.set_baggage(name, value))
    try:
        yield
    finally:
        context.detach(token)


class InvalidState(TraceState):
    """A trace state whose header raises an error, or cannot be sent."""

    def __init__(self, header: str | None) -> None:
        """``header`` is None for the error."""
        super().__init__([("vendor", "a")])
        self._header = header

    def to_header(self) -> str:
        if self._header is None:
            raise RuntimeError("there is no header")
        return self._header
