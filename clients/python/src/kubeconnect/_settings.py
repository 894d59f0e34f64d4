"""The settings of a connection, and the choice among the places that have some.

Each setting is used from the first place that has it, with two exceptions that keep a token from
being sent to a service that it is not for. A place that is for other addresses is not used at all.
And the credentials, which are a token, a client certificate or those of a context of a kubeconfig,
are used from one place only.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kubeconnect._address import Address

T_co = TypeVar("T_co", covariant=True)

_CREDENTIALS = (
    "token",
    "token_file",
    "client_certificate",
    "client_key",
    "context",
    "kubeconfig",
)

_logger = logging.getLogger("kubeconnect")


class ConfigurationError(ValueError):
    """Raised by ``connect`` if it finds no address, or settings that are invalid. The message has
    the place of the settings.
    """


@dataclass(frozen=True, kw_only=True)
class Settings(Generic[T_co]):
    """The arguments of a client; None for those that are not set."""

    address: str | None = None
    token: T_co | None = field(default=None, repr=False)
    token_file: str | os.PathLike[str] | None = None
    ca_file: str | os.PathLike[str] | None = None
    client_certificate: str | os.PathLike[str] | None = None
    client_key: str | os.PathLike[str] | None = None
    kubeconfig: str | os.PathLike[str] | None = None
    context: str | None = None
    timeout: float | None = None


@dataclass(frozen=True)
class Place(Generic[T_co]):
    """A place where settings are looked for."""

    name: str
    settings: Settings[T_co]
    without_address: str = ""
    """Why the place has no address, as a part of an error."""
    only_within_cluster: bool = False
    """Whether the settings are not used for a service outside of the cluster."""

    def serves(self, address: Address) -> bool:
        """Return whether the settings are for an address."""
        if self.only_within_cluster and not address.within_cluster:
            return False
        return self.address in (None, address)

    def get(self, key: str) -> Any:
        """Return a setting; None if it is not set."""
        return getattr(self.settings, key)

    @property
    def address(self) -> Address | None:
        """The address; None if it is not set. Raises ConfigurationError if it is invalid."""
        if self.settings.address is None:
            return None
        try:
            return Address.parse(self.settings.address)
        except ValueError as error:
            raise ConfigurationError(f"{self.name}: {error}") from None


def choose(places: Sequence[Place[T_co]]) -> tuple[str, Settings[T_co]]:
    """Return the address and the other settings to use, and log the place of each.

    The first place is the caller's arguments. Raises ConfigurationError if no place has an
    address, or if the settings contradict each other.
    """
    address = next((place.address for place in places if place.address), None)
    if address is None:
        looked = "; ".join(place.without_address for place in places)
        raise ConfigurationError(f"no address of the service found: {looked}")
    used = [place for place in places if place.serves(address)]
    chosen = {
        **_first(("address",), used),
        **_first(_CREDENTIALS, used),
        # A CA file of the environment may be for other connections than one in plain text.
        **_first(("ca_file",), used if address.tls else used[:1]),
        **_first(("timeout",), used),
    }
    _log(address, chosen, [place for place in places if place not in used])
    _check(address, chosen)
    return str(address), Settings(**{key: place.get(key) for key, place in chosen.items()})


def _first(keys: Sequence[str], places: Sequence[Place[T_co]]) -> dict[str, Place[T_co]]:
    """Return the first place that has any of the keys, for each of the keys that it has."""
    found = ({key: place for key in keys if place.get(key) is not None} for place in places)
    return next(filter(None, found), {})


def _check(address: Address, chosen: dict[str, Place[T_co]]) -> None:
    """Raise ConfigurationError for settings that exclude each other, and for credentials that would
    be sent in plain text.
    """
    ways = [key for key in _CREDENTIALS if key in chosen and not key.startswith("client_")]
    if not ways:
        return
    name = chosen[ways[0]].name
    ways = [key for key in ways if key != "kubeconfig" or "context" not in ways]
    if ways[0] in ("context", "kubeconfig") and "client_certificate" in chosen:
        ways.append("client_certificate")
    if len(ways) > 1:
        raise ConfigurationError(
            f"{name}: {' and '.join(ways)} are mutually exclusive: set one of them"
        )
    if not (address.tls or address.loopback):
        raise ConfigurationError(
            f"{name}: the token is not sent over plain text to {address}: use https://"
        )


def _log(address: Address, chosen: dict[str, Place[T_co]], unused: Sequence[Place[T_co]]) -> None:
    """Log the place of each setting. Tokens are not logged."""
    parts = [f"address {address} from {chosen['address'].name}"]
    for key, place in chosen.items():
        if key != "address":
            value = "" if key == "token" else f" {place.get(key)}"
            parts.append(f"{key}{value} from {place.name}")
    if not chosen.keys() & set(_CREDENTIALS):
        parts.append("no credentials")
    for place in unused:
        if place.settings != Settings(address=place.settings.address):
            served = place.address or "services within the cluster"
            parts.append(f"{place.name} is for {served} and not used")
    _logger.debug("connect: %s", ", ".join(parts))
