"""The freshness of a response."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from kubeconnect.v1 import consistency_pb2 as pb


@dataclass(frozen=True)
class Freshness:
    """How current a response from the service's cache is."""

    stale: bool
    """Whether the response may be outdated: the API server is unreachable for the service, or
    the service for the watch."""
    last_contact_time: datetime | None
    """The time of the last confirmed contact with the API server, in UTC, as last reported by
    the service; None if the service has not reported one."""

    @classmethod
    def from_message(cls, message: pb.Freshness) -> Freshness:
        """Return the freshness for the API's message."""
        reported = message.HasField("last_contact_time")
        contact = message.last_contact_time.ToDatetime(timezone.utc) if reported else None
        return cls(message.stale, contact)
