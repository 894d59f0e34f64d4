"""The trace of the program, which the calls of the client continue."""

from __future__ import annotations

import logging
import sys

from kubeconnect._transport.identity import Metadata

_HEADERS = ("traceparent", "tracestate")

_logger = logging.getLogger("kubeconnect")


def trace_context() -> Metadata:
    """Return the metadata of a call in the trace of the current span of OpenTelemetry: the headers
    of W3C Trace Context. Empty if no span is current. An error is logged, and never raised.

    Nothing is imported for a program that has not imported OpenTelemetry, because no span can be
    current there.
    """
    if sys.modules.get("opentelemetry.trace") is None:
        return ()
    try:
        return _current()
    except Exception:
        _logger.debug("the trace of the program is not sent", exc_info=True)
        return ()


def _current() -> Metadata:
    # Not the propagators that the program has configured: the service continues traces by these
    # headers only, and baggage must not be sent to it.
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers)
    return tuple((name, headers[name]) for name in _HEADERS if _is_valid(headers.get(name, "")))


def _is_valid(value: str) -> bool:
    """Return whether gRPC accepts the value of a header. It would fail the call otherwise."""
    return bool(value) and value.isascii() and value.isprintable()
