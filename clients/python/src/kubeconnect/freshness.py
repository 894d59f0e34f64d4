"""How current an answer is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from kubeconnect.v1 import resource_service_pb2 as pb


@dataclass(frozen=True)
class Freshness:
    """What the service knows of the API server, whose state it answers from memory."""

    stale: bool
    """Whether it has lost the API server, so that nothing newer is known."""
    last_contact: datetime | None
    """When the API server was last known to be there, in UTC; None if not told."""

    @classmethod
    def from_message(cls, message: pb.Freshness) -> Freshness:
        """Read the API's message."""
        told = message.HasField("last_contact")
        contact = message.last_contact.ToDatetime(timezone.utc) if told else None
        return cls(message.stale, contact)
