"""Checks of callers with permissions in some namespaces only. See check_kit.py.

OTHER is the address of a service that authenticates its callers.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from check_kit import Kit, Recorder, content_of, entered, equal, main, raises, result_of, until

import kubeconnect
from kubeconnect import WatchSpec

CACHED_SECONDS = 40  # within which the service notices a permission


class Account:
    """A service account in a namespace of its own, with two namespaces to grant permissions in."""

    def __init__(self, kit: Kit) -> None:
        """Create the namespaces and the account."""
        self._kit = kit
        self.first, self.second = f"{kit.namespace}-{kit.name}-1", f"{kit.namespace}-{kit.name}-2"
        for namespace in (self.first, self.second):
            kit.admin.create("namespaces", {"metadata": {"name": namespace}})
            body = {"metadata": {"name": "a", "labels": {"check": kit.name}}}
            kit.admin.create("configmaps", body, namespace=namespace)
        kit.admin.create("serviceaccounts", {"metadata": {"name": "caller"}}, namespace=self.first)
        token = kit.admin.create(
            "serviceaccounts",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"audiences": []},
            },
            namespace=self.first,
            name="caller",
            subresource="token",
        )
        self.token = token.object["status"]["token"]
        rules = [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
        ]
        kit.admin.create("clusterroles", {"metadata": {"name": self.first}, "rules": rules})

    def grant(self, namespace: str) -> None:
        """Allow to read the ConfigMaps of a namespace."""
        body = {
            "metadata": {"name": "caller"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": self.first,
            },
            "subjects": [{"kind": "ServiceAccount", "name": "caller", "namespace": self.first}],
        }
        self._kit.admin.create("rolebindings", body, namespace=namespace)

    def revoke(self, namespace: str) -> None:
        """Forbid it again."""
        self._kit.admin.delete("rolebindings", "caller", namespace=namespace)

    def delete(self) -> None:
        """Delete the namespaces and the role."""
        self._kit.admin.delete("clusterroles", self.first)
        for namespace in (self.first, self.second):
            self._kit.admin.delete("namespaces", namespace)


async def _allowed(client: Any, namespace: str) -> bool:
    """Wait until the caller may read a namespace."""
    deadline = time.monotonic() + CACHED_SECONDS
    while time.monotonic() < deadline:
        if await result_of(client.can_i("list", "configmaps", namespace=namespace)):
            return True
        await asyncio.sleep(0.5)
    return False


async def check_some_namespaces(kit: Kit) -> None:
    """A store covers the namespaces that the caller is allowed to list, as these change."""
    account = Account(kit)
    account.grant(account.first)
    try:
        async with entered(kit.client(kit.other, token=account.token)) as client:
            identity = await result_of(client.who_am_i())
            equal(identity.username, f"system:serviceaccount:{account.first}:caller")
            assert await _allowed(client, account.first)
            equal(
                await result_of(client.can_i("delete", "configmaps", namespace=account.first)),
                False,
            )
            everything = {"label_selector": kit.label}
            listed = await result_of(client.list("configmaps", **everything))
            equal((listed.namespaces, listed.total), ((account.first,), 1))
            assert listed.warnings
            for call in (
                lambda: client.list("configmaps", require_all_namespaces=True),
                lambda: client.list("configmaps", namespace=account.second),
                lambda: client.get("configmaps", "a", namespace=account.second),
                lambda: client.delete("configmaps", "a", namespace=account.first),
                lambda: client.wait_for("configmaps", "a", "deleted", namespace=account.second),
            ):
                await raises(kubeconnect.Forbidden, call)
            strict = client.store("configmaps", require_all_namespaces=True)
            async with entered(strict):
                await raises(kubeconnect.Forbidden, lambda: strict.wait_synced())

            only = client.store("configmaps", namespace=account.first, **everything)
            store = client.store("configmaps", **everything)
            async with entered(store), entered(only):
                await result_of(store.wait_synced())
                await result_of(only.wait_synced())
                recorder = Recorder()
                recorder_of_only = Recorder()
                places: list[tuple[str, str]] = []
                store.subscribe(
                    on_add=lambda each: places.append(("add", each.namespace)),
                    on_update=lambda old, new: places.append(("update", new.namespace)),
                    on_delete=lambda each: places.append(("delete", each.namespace)),
                )
                only.subscribe(**recorder_of_only.arguments())
                del recorder
                equal(store.namespaces, (account.first,))
                account.grant(account.second)
                await until(lambda: len(store) == 2, "the granted namespace", CACHED_SECONDS)
                await until(
                    lambda: store.namespaces == tuple(sorted((account.first, account.second))),
                    "namespaces",
                )
                account.revoke(account.second)
                await until(lambda: len(store) == 1, "the revoked namespace", CACHED_SECONDS)
                await until(lambda: len(places) == 3, "handlers")
                equal(
                    places,
                    [("add", account.first), ("add", account.second), ("delete", account.second)],
                )
                equal(store.namespaces, (account.first,))
                account.revoke(account.first)
                await until(lambda: only.closed, "the rejected store", CACHED_SECONDS)
                equal((type(only.error), only.stale, len(only)), (kubeconnect.Forbidden, True, 1))
                await raises(kubeconnect.Forbidden, lambda: only.wait_closed(timeout=5))
                await raises(kubeconnect.Forbidden, lambda: only.subscribe())
                equal(recorder_of_only.kinds(), ["add"])
                await until(
                    lambda: len(store) == 0 or store.closed, "nothing is allowed", CACHED_SECONDS
                )
                equal(content_of(store) if not store.closed else {}, {})
    finally:
        account.delete()


async def check_controller_without_permission(kit: Kit) -> None:
    """A controller and an elector raise Forbidden."""
    account = Account(kit)
    account.grant(account.first)
    try:
        async with entered(kit.client(kit.other, token=account.token)) as client:
            assert await _allowed(client, account.first)
            elector = kit.public("LeaderElector")(client, "lease", namespace=account.first)
            await raises(kubeconnect.Forbidden, lambda: elector.acquire(timeout=20))
            called: list[Any] = []

            async def reconcile_async(key: Any) -> None:
                called.append(key)

            spec = WatchSpec("configmaps", namespace=account.first)
            make = kit.public("Controller")
            refused = make(client, spec, owns=["secrets"], namespace=account.first)
            refused.reconcile(reconcile_async if kit.is_async else called.append)
            run = (
                refused.run
                if kit.is_async
                else lambda **more: asyncio.to_thread(refused.run, **more)
            )
            await raises(
                kubeconnect.Forbidden, lambda: asyncio.wait_for(run(handle_signals=False), 30)
            )
            equal(called, [])

            controller = make(client, spec)
            controller.reconcile(reconcile_async if kit.is_async else called.append)
            run = (
                controller.run
                if kit.is_async
                else lambda **more: asyncio.to_thread(controller.run, **more)
            )
            running = asyncio.ensure_future(run(handle_signals=False))
            await until(lambda: called, "a call")
            account.revoke(account.first)
            await raises(kubeconnect.Forbidden, lambda: asyncio.wait_for(running, CACHED_SECONDS))
    finally:
        account.delete()


async def check_tokens(kit: Kit) -> None:
    """Without a valid token calls raise Unauthenticated."""
    for token in ("nonsense", None):
        async with entered(kit.client(kit.other, token=token)) as client:
            await raises(kubeconnect.Unauthenticated, lambda: client.who_am_i())
            await raises(kubeconnect.Unauthenticated, lambda: client.list("configmaps"))
            store = client.store("configmaps")
            async with entered(store):
                await raises(kubeconnect.Unauthenticated, lambda s=store: s.wait_synced())
            elector = kit.public("LeaderElector")(client, "lease", namespace=kit.namespace)
            await raises(kubeconnect.Unauthenticated, lambda e=elector: e.acquire(timeout=10))


if __name__ == "__main__":
    main(globals())
