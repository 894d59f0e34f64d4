"""Waiting for a condition of an object."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any, Literal, overload

from kubeconnect._conditions import Condition
from kubeconnect._errors import DeadlineExceeded, NotFound, WaitTimeout
from kubeconnect._messages import M, resource_name
from kubeconnect._objects import Object
from kubeconnect._reads import Consistency
from kubeconnect._transport.options import deadline, remaining
from kubeconnect._wait_session import WaitSession
from kubeconnect._watch_spec import WatchSpec
from kubeconnect.aio._reads import AsyncReads
from kubeconnect.aio._streams import AsyncStreams


class AsyncWaits(AsyncReads, AsyncStreams):
    """The waits of a client."""

    @overload
    async def wait_for(  # type: ignore[overload-overlap]
        self,
        resource: str,
        name: str,
        condition: Literal["deleted"],
        *,
        namespace: str | None = None,
        min_resource_version: str | None = None,
        timeout: float | None = None,
    ) -> Object | None: ...
    @overload
    async def wait_for(
        self,
        resource: str,
        name: str,
        condition: Condition,
        *,
        namespace: str | None = None,
        min_resource_version: str | None = None,
        timeout: float | None = None,
    ) -> Object: ...
    @overload
    async def wait_for(  # type: ignore[overload-overlap]
        self,
        resource: type[M],
        name: str,
        condition: Literal["deleted"],
        *,
        namespace: str | None = None,
        min_resource_version: str | None = None,
        timeout: float | None = None,
    ) -> M | None: ...
    @overload
    async def wait_for(
        self,
        resource: type[M],
        name: str,
        condition: Condition[M],
        *,
        namespace: str | None = None,
        min_resource_version: str | None = None,
        timeout: float | None = None,
    ) -> M: ...
    async def wait_for(
        self,
        resource: str | type[M],
        name: str,
        condition: Condition[Any],
        *,
        namespace: str | None = None,
        min_resource_version: str | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Wait until an object meets a condition, and return the object. ``wait_for(Pod, …)``
        returns a message of ``kubeconnect.k8s``, and calls a function with messages.

        ``condition`` is one of these:

        - "condition=Ready", or "condition=Ready=False": the object has this condition in its
          status, for its current generation.
        - "rollout": the rollout of a Deployment, DaemonSet or StatefulSet is complete, as
          ``kubectl rollout status`` judges it.
        - "deleted": the object does not exist, or another one has its name. Returns its last
          state; None if it did not exist. Of a resource that is given by its name, the state is
          the metadata only.
        - Any other text is a CEL expression over ``object``, as ``filter`` in ``watch``, which
          the service evaluates: "object.status.phase == 'Running'".
        - A function, which is called with each state of the object. Its exceptions are raised.

        An object that does not exist is waited for. The object is watched, and not read
        repeatedly. The wait sees all writes that are complete when it begins: it asks the
        API server for the current resource version first, unless ``min_resource_version`` is
        given.

        Raises WaitTimeout after ``timeout`` seconds, and when a Deployment exceeds its
        progress deadline. Its message has the last state of the object, and ``object`` is that
        state, as an Object.
        """
        begin, seconds = monotonic(), deadline(timeout, self._timeout)
        path = f"{namespace}/{name}" if namespace else name
        kind = resource if isinstance(resource, str) else resource.__name__
        wait = WaitSession(kind, path, condition)
        try:
            version = min_resource_version or await self._latest_version(
                resource_name(resource), name, namespace, remaining(seconds, begin)
            )
            spec: WatchSpec[Any] = WatchSpec(
                resource, namespace=namespace, name=name, min_resource_version=version
            )
            await self._wait(wait, wait.watches(spec), remaining(seconds, begin))
        except WaitTimeout:
            raise
        except DeadlineExceeded as error:
            if seconds is None or error.status is not None:
                raise
            raise wait.timeout(seconds) from None
        return wait.found

    async def _wait(
        self, wait: WaitSession, watches: Mapping[str, WatchSpec[Any]], timeout: float | None
    ) -> None:
        timeout = None if timeout is None else max(timeout, 0.001)
        async with self._watch_many(watches, timeout=timeout) as events:
            async for key, event in events:
                if wait.receive(key, event):
                    return

    async def _latest_version(
        self, resource: str, name: str, namespace: str | None, timeout: float | None
    ) -> str | None:
        """Return the object's current version; None if it does not exist."""
        try:
            latest = await self.get(
                resource,
                name,
                namespace=namespace,
                metadata_only=True,
                consistency=Consistency.LATEST,
                timeout=timeout,
            )
        except NotFound:
            return None
        return latest.resource_version
