"""How current an answer is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from kubeconnect.v1 import resource_service_pb2 as pb


@dataclass(frozen=True)
class Freshness:
    """How current an answer from the service's memory is."""

    stale: bool
    """Whether nothing newer is known: the service has lost the API server, or a watch has
    lost the service."""
    last_contact: datetime | None
    """When the API server was last known to be there, in UTC, as the service last said;
    None if it has not said."""

    @classmethod
    def from_message(cls, message: pb.Freshness) -> Freshness:
        """Read the API's message."""
        told = message.HasField("last_contact")
        contact = message.last_contact.ToDatetime(timezone.utc) if told else None
        return cls(message.stale, contact)
