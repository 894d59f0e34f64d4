"""The calls of a client that do what kubectl has a command for."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from kubeconnect._writes import CreateResult, PatchResult
from kubeconnect.aio._writes import AsyncWrites


class AsyncOperations(AsyncWrites):
    """Common changes of workloads, pods and nodes, each of which is one write."""

    async def scale(
        self,
        resource: str,
        name: str,
        replicas: int,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> PatchResult:
        """Set the number of replicas, by the "scale" subresource of a workload.

        The result's object is the Scale. Pass its ``resource_version`` to ``wait_for`` as
        ``min_resource_version``. Raises NotFound if the object does not exist, or its kind
        has no scale.
        """
        return await self.patch(
            resource,
            name,
            {"spec": {"replicas": replicas}},
            type="merge",
            namespace=namespace,
            subresource="scale",
            dry_run=dry_run,
            field_manager=field_manager,
            timeout=timeout,
        )

    async def restart(
        self,
        resource: str,
        name: str,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> PatchResult:
        """Replace the pods of a workload one after another, as ``kubectl rollout restart`` does.

        It annotates the pod template with the current time. Raises InvalidArgument if the
        kind has no pod template, and Invalid if its template cannot be changed.
        """
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        annotations = {"kubectl.kubernetes.io/restartedAt": now}
        return await self.patch(
            resource,
            name,
            {"spec": {"template": {"metadata": {"annotations": annotations}}}},
            type="merge",
            namespace=namespace,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation="strict",
            timeout=timeout,
        )

    async def evict(
        self,
        name: str,
        *,
        namespace: str,
        uid: str | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> CreateResult:
        """Delete a pod if its disruption budgets allow it.

        With a ``uid`` the pod must have that UID. ``grace_period_seconds`` is the time that
        it has to shut down; the default is the pod's own.

        Raises TooManyRequests if a budget does not allow it now, NotFound if the pod does
        not exist, and Conflict if it has another UID. The call is not retried.
        """
        options: dict[str, Any] = {}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        return await self.create(
            "pods",
            eviction,
            namespace=namespace,
            name=name,
            subresource="eviction",
            dry_run=dry_run,
            timeout=timeout,
        )

    async def cordon(
        self, node: str, *, dry_run: bool = False, timeout: float | None = None
    ) -> PatchResult:
        """Mark a node as unschedulable: no further pods are placed on it."""
        return await self._set_unschedulable(node, True, dry_run=dry_run, timeout=timeout)

    async def uncordon(
        self, node: str, *, dry_run: bool = False, timeout: float | None = None
    ) -> PatchResult:
        """Mark a node as schedulable again."""
        return await self._set_unschedulable(node, None, dry_run=dry_run, timeout=timeout)

    async def _set_unschedulable(
        self, node: str, value: bool | None, *, dry_run: bool, timeout: float | None
    ) -> PatchResult:
        patch = {"spec": {"unschedulable": value}}
        return await self.patch(
            "nodes", node, patch, type="merge", dry_run=dry_run, timeout=timeout
        )
