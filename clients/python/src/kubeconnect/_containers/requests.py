"""The requests for connections into containers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

STREAM_PROTOCOL = "v5.channel.k8s.io"
"""The protocol of commands and of attached clients: the first one in which stdin can be closed."""

PORT_PROTOCOL = "v4.channel.k8s.io"
"""The protocol of one connection to a port."""


@dataclass(frozen=True)
class StreamRequest:
    """A request whose response is a WebSocket."""

    path: str
    protocol: str
    stdin: bool = False
    tty: bool = False


def exec_request(
    pod: str,
    command: Sequence[str],
    *,
    namespace: str,
    container: str | None,
    stdin: bool,
    tty: bool,
) -> StreamRequest:
    """Return the request that runs a command. Raises TypeError or ValueError if it is none."""
    if isinstance(command, str) or not all(isinstance(each, str) for each in command):
        raise TypeError('command must be a list of str, such as ["sh", "-c", "ls | wc -l"]')
    if not command:
        raise ValueError("command must not be empty")
    more = [("command", each) for each in command]
    return _stream_request("exec", pod, more, namespace, container, stdin, tty)


def attach_request(
    pod: str, *, namespace: str, container: str | None, stdin: bool, tty: bool
) -> StreamRequest:
    """Return the request that attaches to the main process of a container."""
    return _stream_request("attach", pod, [], namespace, container, stdin, tty)


def port_request(pod: str, port: int, *, namespace: str) -> StreamRequest:
    """Return the request for one connection to a port. Raises ValueError if it is none."""
    if isinstance(port, bool) or not isinstance(port, int):
        raise TypeError(f"port must be an int, not {type(port).__name__}")
    if not 0 < port < 65536:
        raise ValueError(f"port must be between 1 and 65535, not {port}")
    path = _path("portforward", pod, namespace, [("ports", str(port))])
    return StreamRequest(path, PORT_PROTOCOL)


def _stream_request(
    subresource: str,
    pod: str,
    more: list[tuple[str, str]],
    namespace: str,
    container: str | None,
    stdin: bool,
    tty: bool,
) -> StreamRequest:
    # A terminal has one output.
    streams = {"stdin": stdin, "stdout": True, "stderr": not tty, "tty": tty}
    query = [*more, *((name, "true") for name, wanted in streams.items() if wanted)]
    if container is not None:
        query.append(("container", container))
    path = _path(subresource, pod, namespace, query)
    return StreamRequest(path, STREAM_PROTOCOL, stdin, tty)


def _path(subresource: str, pod: str, namespace: str, query: list[tuple[str, str]]) -> str:
    at = f"/api/v1/namespaces/{_segment('namespace', namespace)}/pods/{_segment('pod', pod)}"
    return f"{at}/{subresource}?{urlencode(query)}"


def _segment(name: str, value: str) -> str:
    """Return a name as a part of a path. One that is no name would lead to another resource."""
    if not isinstance(value, str):
        raise TypeError(f"{name} has the wrong type {type(value).__name__}: it must be a str")
    if value in ("", ".", ".."):
        raise ValueError(f"{name} must be a name, not {value!r}")
    return quote(value, safe="")
