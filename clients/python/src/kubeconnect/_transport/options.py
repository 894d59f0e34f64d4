"""Options of channels and calls."""

from __future__ import annotations

import math
from pathlib import Path
from time import monotonic

import grpc

from kubeconnect._address import Address
from kubeconnect._transport.files import FilePath
from kubeconnect._transport.identity import KeyPair
from kubeconnect._version import __version__

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""The maximum size of a received message. Pages of the service are about 3 MiB, but a single
object may be larger. gRPC's default is 4 MiB."""

MAX_METADATA_BYTES = 1024 * 1024
"""The maximum size of headers and trailers. Errors are sent in the trailers. The service keeps
an error below 8 KiB, but a proxy may add metadata. gRPC's defaults are 8 KiB, above which it
rejects metadata at random, and 16 KiB, above which it always rejects."""

KEEPALIVE_SECONDS = 10
"""The idle time after which a connection with open calls is pinged."""

KEEPALIVE_TIMEOUT_SECONDS = 10
"""The time to wait for the reply to a ping before the connection is closed. On a slow link the
reply may be queued after a large message."""

FIRST_RECONNECT_SECONDS = 0.2
"""The delay before the first attempt to reconnect. It grows with each further attempt."""

CONNECT_SECONDS = 8.0
"""The time limit for a new connection, TLS handshake included; gRPC's default is 20 seconds. A
frozen replica accepts connections but does not respond on them."""

MAX_RECONNECT_SECONDS = 5.0
"""The maximum delay between attempts to reconnect. gRPC's default of two minutes is too long for
a live view."""


def channel_options(address: Address) -> list[tuple[str, int | str]]:
    """Return gRPC's options for a channel to the address."""
    options: list[tuple[str, int | str]] = [
        ("grpc.primary_user_agent", f"kubeconnect-python/{__version__}"),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_SECONDS * 1000),
        # Some versions of gRPC use only this option, and default to a minute.
        ("grpc.http2.ping_timeout_ms", KEEPALIVE_TIMEOUT_SECONDS * 1000),
        ("grpc.initial_reconnect_backoff_ms", int(FIRST_RECONNECT_SECONDS * 1000)),
        ("grpc.min_reconnect_backoff_ms", int(CONNECT_SECONDS * 1000)),
        ("grpc.max_reconnect_backoff_ms", int(MAX_RECONNECT_SECONDS * 1000)),
        # A channel that replaces another one must not share its connection.
        ("grpc.use_local_subchannel_pool", 1),
        # A watch sends nothing after its request, and gRPC limits pings without data.
        ("grpc.http2.max_pings_without_data", 0),
    ]
    if address.loopback:
        # Traffic to loopback must not leave this host through a proxy of the environment.
        options.append(("grpc.enable_http_proxy", 0))
    return options


def channel_credentials(roots: bytes | None, pair: KeyPair | None) -> grpc.ChannelCredentials:
    """Return the credentials that verify the server's certificate by these CA certificates, by
    default gRPC's own, and that identify the client by its own certificate, if it has one.
    """
    key, chain = (pair.key, pair.certificate) if pair else (None, None)
    return grpc.ssl_channel_credentials(
        root_certificates=roots, private_key=key, certificate_chain=chain
    )


def root_certificates(address: Address, ca_file: FilePath | None) -> bytes | None:
    """Return the CA certificates to trust; None for the default. Raises ValueError in plain text,
    and OSError for a file that cannot be read.
    """
    if ca_file is None:
        return None
    check_tls(address, "ca_file")
    return Path(ca_file).read_bytes()


def check_tls(address: Address, name: str) -> None:
    """Raise ValueError for an argument that has no effect without TLS."""
    if not address.tls:
        raise ValueError(f"{name} has no effect over plain text: use https://")


def deadline(timeout: float | None, default: float) -> float | None:
    """Return the timeout of a call in seconds; None for no limit."""
    seconds = default if timeout is None else timeout
    if not seconds > 0:
        raise ValueError(f"timeout must be more than 0 seconds, not {seconds}")
    return None if math.isinf(seconds) else seconds


def limit(timeout: float | None) -> float | None:
    """Return the timeout of a stream in seconds; None for no limit, which is the default."""
    return deadline(timeout, math.inf)


def remaining(timeout: float | None, begin: float) -> float | None:
    """Return the rest of a timeout that began at ``begin``, a time of ``monotonic``."""
    return None if timeout is None else max(timeout - (monotonic() - begin), 0.0)
