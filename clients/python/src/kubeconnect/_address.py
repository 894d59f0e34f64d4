"""The address of the service, and whether it is safe to send a token there."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Address:
    """A host, a port, and whether the connection uses TLS."""

    host: str
    port: int
    tls: bool

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse ``http://host:port``, ``https://host:port`` or ``host:port``.

        Without a scheme, loopback addresses use plain text and all others use TLS.
        The port defaults to the port of the scheme. Raises ValueError for anything else.
        The error does not repeat the text, because it may contain a password. Raises TypeError if
        it is not a str, such as None for a variable that is not set.
        """
        if not isinstance(text, str):
            raise TypeError(f"the address must be a str, not {type(text).__name__}")
        parts, port = _split(text)
        host = parts.hostname or ""
        scheme = parts.scheme or ("http" if is_loopback(host) else "https")
        if not host or scheme not in _DEFAULT_PORTS or _has_more(parts):
            raise ValueError(
                'invalid address: use "http://host:port", "https://host:port" or '
                '"host:port", without user, path or query'
            )
        port = _DEFAULT_PORTS[scheme] if port is None else port
        return cls(host, port, tls=scheme == "https")

    def __str__(self) -> str:
        """Return the address as a URL."""
        return f"{'https' if self.tls else 'http'}://{self.authority}"

    @property
    def loopback(self) -> bool:
        """Whether traffic to the address stays on this host."""
        return is_loopback(self.host)

    @property
    def within_cluster(self) -> bool:
        """Whether the host is loopback, or is named as in a cluster: without dots, or with "svc"
        as a part.
        """
        if ":" in self.host:  # IPv6
            return self.loopback
        labels = self.host.split(".")
        return self.loopback or len(labels) == 1 or "svc" in labels

    @property
    def authority(self) -> str:
        """Host and port, in the form of a request's ``:authority``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def target(self) -> str:
        """The address in gRPC's target notation."""
        return f"dns:///{self.authority}"


def is_loopback(host: str) -> bool:
    """Return whether the host is loopback: 127.0.0.0/8, ::1 or "localhost"."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _split(text: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        return parts, parts.port
    except ValueError:
        raise ValueError("invalid address: no valid host and port") from None


def _has_more(parts: SplitResult) -> bool:
    beyond = parts.path.rstrip("/") or parts.query or parts.fragment
    return bool(beyond) or "@" in parts.netloc
