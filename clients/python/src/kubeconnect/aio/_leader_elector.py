"""Leader election by a Lease."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import grpc

from kubeconnect._concurrency.aio import AsyncMonitor, AsyncWorkers
from kubeconnect._errors import (
    Cancelled,
    Conflict,
    Forbidden,
    InvalidArgument,
    KubeconnectError,
    NotFound,
    Unauthenticated,
    Unimplemented,
)
from kubeconnect._leases import (
    JITTER,
    LEASE_SECONDS,
    RENEW_SECONDS,
    RESOURCE,
    RETRY_SECONDS,
    Election,
    LeadershipLost,
    check_durations,
    unique_identity,
)
from kubeconnect._metrics import leader_metric
from kubeconnect._reads import Consistency
from kubeconnect.aio._client import AsyncClient

_logger = logging.getLogger("kubeconnect")

_FINAL = (Cancelled, Forbidden, InvalidArgument, Unauthenticated, Unimplemented)


class AsyncLeaderElector:
    """Elects one leader among the processes that use the same Lease, as client-go does.

    As a context manager it blocks until this process is the leader, and releases the lease at
    the end::

        async with AsyncLeaderElector(client, "web-operator", namespace="demo") as elector:
            while elector.is_leader:
                ...

    The leader renews the lease every ``retry_period`` seconds, in the background. A candidate
    tries to acquire it every ``retry_period`` seconds, plus a random time of up to 1.2 times
    that. It succeeds if the lease has no holder, or if it has not seen the lease change for
    the lease's duration, by its own clock: the clocks of candidates need not agree.

    The leader loses the lease if it cannot renew it for ``renew_deadline`` seconds, or if
    another candidate holds it. ``is_leader`` is False then, ``on_stopped_leading`` is called,
    and ``check`` and ``wait_lost`` raise LeadershipLost. A program should stop its work at
    once: after ``lease_duration`` seconds another candidate may begin. ``acquire`` may be
    called again.

    The caller needs the permission to get, create and update ``leases.coordination.k8s.io`` in
    the namespace. All methods may be called concurrently, but ``acquire`` by one caller only.
    """

    def __init__(
        self,
        client: AsyncClient,
        name: str,
        *,
        namespace: str,
        identity: str | None = None,
        lease_duration: float = LEASE_SECONDS,
        renew_deadline: float | None = None,
        retry_period: float | None = None,
        on_started_leading: Callable[[], object] | None = None,
        on_stopped_leading: Callable[[LeadershipLost | None], object] | None = None,
        on_new_leader: Callable[[str], object] | None = None,
    ) -> None:
        """Create an elector, which does nothing yet.

        ``name`` and ``namespace`` are those of the Lease, which is created if it does not
        exist. ``identity`` must be unique: the default is the host's name and a random UUID.
        Times are in seconds, and ``lease_duration`` is rounded up to whole ones. By default
        ``renew_deadline`` and ``retry_period`` have client-go's proportion to it: 10 and 2
        seconds of 15.

        The callbacks must return soon, and their exceptions are logged.
        ``on_stopped_leading`` is called with the error, or None if the elector was closed.
        ``on_new_leader`` is called with the identity of each leader that is seen.

        Raises ValueError unless ``lease_duration`` is more than ``renew_deadline``, and that
        more than 1.2 times ``retry_period``.
        """
        scale = lease_duration / LEASE_SECONDS
        renew_deadline = RENEW_SECONDS * scale if renew_deadline is None else renew_deadline
        retry_period = RETRY_SECONDS * scale if retry_period is None else retry_period
        check_durations(lease_duration, renew_deadline, retry_period)
        self._client = client
        self._name = name
        self._namespace = namespace
        self._renew_deadline = renew_deadline
        self._retry_period = retry_period
        self._on_started_leading = on_started_leading
        self._on_stopped_leading = on_stopped_leading
        self._on_new_leader = on_new_leader
        identity = identity or unique_identity()
        self._election = Election(identity, lease_duration)
        self._metric = leader_metric(name)
        self._metric(False)
        self._workers = AsyncWorkers()
        # Guards the attributes below.
        self._monitor = AsyncMonitor()
        self._leading = False
        self._lost: LeadershipLost | None = None
        self._reported: str | None = None  # the holder that on_new_leader was called with
        self._closed = False

    def __repr__(self) -> str:
        """Return the Lease, and whether this candidate is the leader."""
        state = "leader" if self.is_leader else "not the leader"
        return f"<{type(self).__name__} {self._namespace}/{self._name}: {state}>"

    @property
    def identity(self) -> str:
        """The identity of this candidate, which its Lease has as ``holderIdentity``."""
        return self._election.identity

    @property
    def leader(self) -> str | None:
        """The identity of the leader, as last seen; None if none was seen."""
        return self._election.holder

    @property
    def is_leader(self) -> bool:
        """Whether this candidate is the leader now. It is False as soon as the lease has not
        been renewed for its duration, also if this process was suspended meanwhile.
        """
        return self._leading and self._election.is_held

    def check(self) -> None:
        """Raise LeadershipLost unless this candidate is the leader now."""
        if not self.is_leader:
            raise self._lost or self._loss("it was not renewed in time")

    async def __aenter__(self) -> AsyncLeaderElector:
        """Wait until this candidate is the leader."""
        try:
            await self.acquire()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the lease."""
        await self.close()

    async def acquire(self, timeout: float | None = None) -> None:
        """Wait until this candidate is the leader, and renew the lease from then on.

        Raises TimeoutError after ``timeout`` seconds (None means no limit), and Cancelled if
        the elector or the client is closed. Raises Forbidden and other errors that another
        attempt would not mend, such as NotFound for the namespace. Other errors are logged.
        """
        clock = self._election.clock
        end = math.inf if timeout is None else clock() + timeout
        while not self._leading:
            self._check_open()
            if await self._try_acquire(min(end, clock() + self._renew_deadline)):
                await self._start_leading()
                return
            rest = end - clock()
            if rest <= 0:
                raise TimeoutError(f"the lease {self._path} was not acquired in {timeout} seconds")
            await self._pause(min(rest, self._retry_period * (1 + JITTER * random.random())))

    async def wait_lost(self, timeout: float | None = None) -> None:
        """Wait until the leadership ends. Returns when the elector is closed.

        Raises LeadershipLost if the lease was lost since it was last acquired. Raises
        TimeoutError after ``timeout`` seconds; None means no limit.
        """
        clock = self._election.clock
        end = math.inf if timeout is None else clock() + timeout
        with self._monitor:
            while self._leading and not self._closed:
                rest = end - clock()
                if rest <= 0:
                    raise TimeoutError(f"the lease {self._path} is still held")
                await self._monitor.wait(min(rest, self._renew_deadline))
            if self._lost is not None:
                raise self._lost

    async def close(self, *, release: bool = True) -> None:
        """Stop renewing the lease, and release it, so that another candidate need not wait
        until it ends. Closing again has no effect.

        Finish the work of the leader before. If that is not possible, pass ``release=False``:
        the lease then ends ``lease_duration`` seconds after it was last renewed.
        """
        with self._monitor:
            self._closed = True
            self._monitor.notify_all()
        await self._workers.join(self._renew_deadline)
        with self._monitor:
            leading, self._leading = self._leading, False
        if leading:
            if release:
                await self._release()
            self._metric(False)
            self._call(self._on_stopped_leading, None)

    async def _try_acquire(self, end: float) -> bool:
        """Make one attempt, and return whether this candidate holds the lease."""
        try:
            return await self._attempt(end)
        except _FINAL:
            raise
        except NotFound as error:
            if self._election.lease is None:  # the namespace, or the API, does not exist
                raise
            self._log_failure("acquire", error)
        except KubeconnectError as error:
            self._log_failure("acquire", error)
        return False

    async def _start_leading(self) -> None:
        with self._monitor:
            self._lost = None
            self._leading = True
            closed = self._closed
        if closed:  # close() ran during the attempt, and has released nothing
            await self.close()
            self._check_open()
        _logger.info("%s is the leader: it holds the lease %s", self.identity, self._path)
        self._metric(True)
        self._workers.start(f"kubeconnect-lease-{self._name}", self._renew)
        self._call(self._on_started_leading)

    async def _renew(self) -> None:
        """Renew the lease until it is lost, or the elector is closed."""
        try:
            while await self._pause(self._retry_period):
                await self._renew_once()
        except LeadershipLost as error:
            self._stop_leading(error)
        except Exception as error:
            self._stop_leading(self._loss(f"the renewal failed: {error!r}"))

    async def _renew_once(self) -> None:
        """Renew the lease, with as many attempts as time allows."""
        clock = self._election.clock
        end = clock() + self._renew_deadline
        if (valid_until := self._election.valid_until) > clock():
            end = min(end, valid_until)
        while True:
            try:
                if await self._attempt(end):
                    return
                raise self._loss(f"its holder is {self._election.holder or 'nobody'}")
            except LeadershipLost:
                raise
            except KubeconnectError as error:
                self._log_failure("renew", error)
                if isinstance(error, Cancelled):
                    raise self._loss("the client was closed") from error
                if not clock() < end:
                    raise self._loss("it was not renewed in time") from error
            if not await self._pause(min(self._retry_period, end - clock())):
                return

    def _stop_leading(self, error: LeadershipLost) -> None:
        with self._monitor:
            self._leading = False
            self._lost = error
            self._monitor.notify_all()
        _logger.error("%s is not the leader any more: %s", self.identity, error)
        self._metric(False)
        self._call(self._on_stopped_leading, error)

    async def _attempt(self, end: float) -> bool:
        """Acquire or renew the lease once. Returns False if another candidate holds it.

        The holder renews the lease as it knows it. Only if that fails is the lease read.
        """
        if self._election.is_held:
            try:
                await self._write(self._election.claim(), end)
                return True
            except KubeconnectError as error:
                _logger.debug("the lease %s is read again: %s", self._path, error)
        self._election.observe(await self._read(end))
        self._report_leader()
        if self._election.is_taken or (self._leading and self._election.is_lost):
            return False
        await self._write(self._election.claim(), end)
        self._report_leader()
        return True

    async def _read(self, end: float) -> Mapping[str, Any] | None:
        try:
            result = await self._client.get(
                RESOURCE,
                self._name,
                namespace=self._namespace,
                consistency=Consistency.LATEST,
                timeout=self._timeout(end),
            )
        except NotFound:
            return None
        return result.to_dict()

    async def _write(self, spec: Mapping[str, Any], end: float) -> None:
        """Write the lease, if it is still as it was last seen."""
        lease, sent = self._election.lease, self._election.clock()
        if lease is None:
            metadata = {"name": self._name, "namespace": self._namespace}
            created = await self._client.create(
                RESOURCE,
                {"metadata": metadata, "spec": spec},
                namespace=self._namespace,
                timeout=self._timeout(end),
            )
            self._election.observe(created.object.to_dict(), sent)
            return
        updated = await self._client.update(
            RESOURCE,
            {**lease, "spec": spec},
            namespace=self._namespace,
            name=self._name,
            uid=lease["metadata"]["uid"],
            resource_version=lease["metadata"]["resourceVersion"],
            timeout=self._timeout(end),
        )
        self._election.observe(updated.object.to_dict(), sent)

    async def _release(self) -> None:
        """Write the lease without a holder. An error is logged: the lease ends by itself."""
        end = self._election.clock() + self._renew_deadline / 2
        while True:
            try:
                self._election.observe(await self._read(end))
                if self._election.holder == self.identity:
                    await self._write(self._election.resignation(), end)
                return
            except KubeconnectError as error:
                if not isinstance(error, Conflict) or self._election.clock() >= end:
                    self._log_failure("release", error)
                    return

    def _timeout(self, end: float) -> float:
        """Return the timeout of a call, which leaves time for another attempt before ``end``."""
        rest = end - self._election.clock()
        return max(min(rest, self._renew_deadline / 2), 0.01)

    async def _pause(self, seconds: float) -> bool:
        """Wait, and return whether the elector is not closed."""
        clock = self._election.clock
        end = clock() + seconds
        with self._monitor:
            while not self._closed and (rest := end - clock()) > 0:
                await self._monitor.wait(rest)
            return not self._closed

    def _check_open(self) -> None:
        if self._closed:
            raise Cancelled(grpc.StatusCode.CANCELLED, "the leader elector is closed")

    def _report_leader(self) -> None:
        holder = self._election.holder
        if holder is not None and holder != self._reported:
            self._reported = holder
            self._call(self._on_new_leader, holder)

    def _call(self, callback: Callable[..., object] | None, *arguments: object) -> None:
        try:
            if callback is not None:
                callback(*arguments)
        except Exception:
            _logger.exception("a callback of the leader election failed")

    def _loss(self, reason: str) -> LeadershipLost:
        return LeadershipLost(grpc.StatusCode.ABORTED, f"the lease {self._path} was lost: {reason}")

    def _log_failure(self, action: str, error: KubeconnectError) -> None:
        _logger.warning("could not %s the lease %s: %s", action, self._path, error)

    @property
    def _path(self) -> str:
        return f"{self._namespace}/{self._name}"
