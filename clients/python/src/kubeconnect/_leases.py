"""The state of a leader election, without any I/O."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from time import monotonic
from typing import Any

from kubeconnect._errors import KubeconnectError

RESOURCE = "leases.coordination.k8s.io"
"""The resource of the lock."""

LEASE_SECONDS = 15.0
"""The default time after which other candidates take over a lease that is not renewed."""

RENEW_SECONDS = 10.0
"""The default time for which the leader tries to renew its lease before it gives up."""

RETRY_SECONDS = 2.0
"""The default time between two attempts."""

JITTER = 1.2
"""The part of the time between two attempts of a candidate that is added at random."""


class LeadershipLost(KubeconnectError):
    """The lease was not renewed in time, or another candidate holds it. ``__cause__`` is the
    error of the last attempt, if there was one.
    """


def unique_identity() -> str:
    """Return the default identity of a candidate: the name of the host, and a random part."""
    import uuid  # slow to import

    return f"{socket.gethostname()}_{uuid.uuid4()}"


def check_durations(lease: float, renew: float, retry: float) -> None:
    """Raise ValueError for durations with which two leaders would be possible."""
    if not (retry > 0 and lease < math.inf):
        raise ValueError("retry_period must be more than 0, and lease_duration finite")
    if renew <= JITTER * retry:
        raise ValueError(f"renew_deadline must be more than {JITTER} times retry_period")
    if lease <= renew:
        raise ValueError("lease_duration must be more than renew_deadline")


@dataclass(frozen=True)
class LeaseRecord:
    """The fields of a Lease that an election uses. Times are those of the holder's clock: they
    are written for people, and never compared.
    """

    holder: str = ""
    seconds: int = 0
    transitions: int = 0
    acquire_time: str | None = None
    renew_time: str | None = None

    @classmethod
    def from_lease(cls, lease: Mapping[str, Any]) -> LeaseRecord:
        """Return the record of a Lease. All fields of its spec are optional."""
        spec = lease.get("spec") or {}
        return cls(
            spec.get("holderIdentity") or "",
            spec.get("leaseDurationSeconds") or 0,
            spec.get("leaseTransitions") or 0,
            spec.get("acquireTime"),
            spec.get("renewTime"),
        )

    def to_spec(self) -> dict[str, Any]:
        """Return the fields of a Lease's spec."""
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.seconds,
            "leaseTransitions": self.transitions,
            "acquireTime": self.acquire_time,
            "renewTime": self.renew_time,
        }


def utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(timezone.utc)


class Election:
    """What one candidate knows of the lease, as in client-go's leaderelection.

    A lease is valid for its own duration, counted from the moment at which this candidate saw
    it change, by this candidate's clock. So the clocks of candidates need not agree. The
    candidate's own lease is counted from before the request that renewed it, which is earlier
    than any other candidate can have seen it.
    """

    def __init__(
        self,
        identity: str,
        seconds: float,
        *,
        clock: Callable[[], float] = monotonic,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Begin without a lease.

        ``seconds`` is the duration to write. ``clock`` never goes back, and ``now`` is the
        time to write.
        """
        self.identity = identity
        self.clock = clock
        self._seconds = math.ceil(seconds)
        self._now = now
        self._lease: dict[str, Any] | None = None  # as it was read or written last
        self._record = LeaseRecord()
        self._observed = -math.inf  # the local time of the last change

    @property
    def lease(self) -> dict[str, Any] | None:
        """The lease as it was read or written last; None if it does not exist."""
        return self._lease

    @property
    def holder(self) -> str | None:
        """The identity of the holder, as last seen; None if there is none."""
        return self._record.holder or None

    @property
    def valid_until(self) -> float:
        """The time of the clock until which the lease is valid."""
        return self._observed + self._record.seconds

    @property
    def is_held(self) -> bool:
        """Whether this candidate holds the lease, and it is valid."""
        return self.holder == self.identity and self.clock() < self.valid_until

    @property
    def is_taken(self) -> bool:
        """Whether another candidate holds the lease, and it is valid."""
        return self.holder not in (None, self.identity) and self.clock() < self.valid_until

    @property
    def is_lost(self) -> bool:
        """Whether the lease exists and this candidate does not hold it."""
        return self._lease is not None and self.holder != self.identity

    def observe(self, lease: Mapping[str, Any] | None, at: float | None = None) -> None:
        """Take in the lease as it was read, or as it was written by a request at the time
        ``at``; None if it does not exist. A lease that has not changed is as old as before.
        """
        self._lease = None if lease is None else dict(lease)
        record = LeaseRecord() if lease is None else LeaseRecord.from_lease(lease)
        if record != self._record:
            self._record = record
            self._observed = self.clock() if at is None else at

    def claim(self) -> dict[str, Any]:
        """Return the spec that acquires the lease, or renews it."""
        now = _micro_time(self._now())
        renewed = replace(self._record, holder=self.identity, seconds=self._seconds, renew_time=now)
        if self.holder == self.identity:
            return self._spec(renewed)
        transitions = self._record.transitions + (0 if self._lease is None else 1)
        return self._spec(replace(renewed, acquire_time=now, transitions=transitions))

    def resignation(self) -> dict[str, Any]:
        """Return the spec that releases the lease, so that others need not wait."""
        now = _micro_time(self._now())
        released = replace(self._record, holder="", seconds=1, acquire_time=now, renew_time=now)
        return self._spec(released)

    def _spec(self, record: LeaseRecord) -> dict[str, Any]:
        """Return the spec for a record, with the fields of the lease that it does not have."""
        return {**((self._lease or {}).get("spec") or {}), **record.to_spec()}


def _micro_time(time: datetime) -> str:
    """Return a time in the format of Kubernetes' MicroTime."""
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
