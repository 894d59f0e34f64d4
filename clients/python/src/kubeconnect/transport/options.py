"""How channels are set up and what each call carries."""

from __future__ import annotations

import math
import os
from importlib.metadata import version
from pathlib import Path
from time import monotonic

import grpc

from kubeconnect.address import Address

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""The largest message that we take. The service keeps a page near 3 MiB, but one
object may be larger; gRPC's own limit is 4 MiB."""

MAX_METADATA_BYTES = 1024 * 1024
"""The largest headers and trailers that we take: an error stands in the trailers. The
service keeps it below 8 KiB, but there may be a proxy before it; gRPC's own limits are
8 KiB, above which it drops some at random, and 16 KiB."""

KEEPALIVE_SECONDS = 10
"""How long a connection with open calls may be silent before we ping it."""

KEEPALIVE_TIMEOUT_SECONDS = 10
"""How long we wait for the answer before we give the connection up. The answer may have to
wait behind a large message on a slow link."""

FIRST_RECONNECT_SECONDS = 0.2
"""How long to wait before a connection that was lost is tried again; this grows."""

CONNECT_SECONDS = 8.0
"""How long a new connection may take, TLS and all; gRPC's own limit is 20 seconds. A frozen replica
accepts a connection, but never answers on it."""

LONGEST_RECONNECT_SECONDS = 5.0
"""How long to wait at most; gRPC's own two minutes are too long for a live view."""


def channel_options(address: Address) -> list[tuple[str, int | str]]:
    """Return gRPC's options for a channel to the address."""
    options: list[tuple[str, int | str]] = [
        ("grpc.primary_user_agent", f"kubeconnect-python/{version('kubeconnect')}"),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_SECONDS * 1000),
        # Some versions of gRPC look at this alone, and wait for a minute without it.
        ("grpc.http2.ping_timeout_ms", KEEPALIVE_TIMEOUT_SECONDS * 1000),
        ("grpc.initial_reconnect_backoff_ms", int(FIRST_RECONNECT_SECONDS * 1000)),
        ("grpc.min_reconnect_backoff_ms", int(CONNECT_SECONDS * 1000)),
        ("grpc.max_reconnect_backoff_ms", int(LONGEST_RECONNECT_SECONDS * 1000)),
        # A channel made in place of another one must not share its connection.
        ("grpc.use_local_subchannel_pool", 1),
        # A watch sends nothing after its request; gRPC would soon stop to ping it.
        ("grpc.http2.max_pings_without_data", 0),
    ]
    if address.loopback:
        # A proxy from the environment would see what must not leave this host.
        options.append(("grpc.enable_http_proxy", 0))
    return options


def channel_credentials(
    address: Address, ca_file: str | os.PathLike[str] | None
) -> grpc.ChannelCredentials | None:
    """Return what the server's certificate must be signed by; None for plain text."""
    if address.tls:
        roots = None if ca_file is None else Path(ca_file).read_bytes()
        return grpc.ssl_channel_credentials(root_certificates=roots)
    if ca_file is not None:
        raise ValueError("a CA file is of no use over plain text: write https://")
    return None


def deadline(timeout: float | None, default: float) -> float | None:
    """Return the seconds that a call may take, in gRPC's terms: None for no limit."""
    seconds = default if timeout is None else timeout
    if not seconds > 0:
        raise ValueError(f"a timeout must be more than 0 seconds, not {seconds}")
    return None if math.isinf(seconds) else seconds


def remaining(timeout: float | None, begin: float) -> float | None:
    """Return what is left of a timeout that began at a time of ``monotonic``."""
    return None if timeout is None else max(timeout - (monotonic() - begin), 0.0)
