"""Checks of waits, applies, operations and errors against what the documentation says.

See check_kit.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import yaml
from check_kit import SLACK_SECONDS, Kit, Proxy, entered, equal, main, raises, result_of

import kubeconnect
from kubeconnect import AccessCheck, PatchType, WatchSpec
from kubeconnect.k8s.core.v1 import ConfigMap, Container, Pod, PodSpec, ResourceRequirements
from kubeconnect.k8s.helpers import (
    to_datetime,
    to_decimal,
    to_decimals,
    to_dict,
    to_quantities,
)
from kubeconnect.k8s.meta.v1 import ObjectMeta


def deployment(kit: Kit, name: str, replicas: int = 1, **spec: Any) -> dict[str, Any]:
    """Return a Deployment."""
    labels = {"app": kit.full(name)}
    container = {"name": "web", "image": "example.com/web:1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": kit.full(name), "namespace": kit.namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            **spec,
        },
    }


def later(seconds: float, function: Any, *arguments: Any, **more: Any) -> asyncio.Task[Any]:
    """Call a function in a moment."""

    async def call() -> None:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(function, *arguments, **more)

    return asyncio.ensure_future(call())


async def waited(kit: Kit, client: Any, *arguments: Any, **more: Any) -> Any:
    """Return the result of a wait, without blocking the event loop."""
    if kit.is_async:
        return await client.wait_for(*arguments, **more)
    return await asyncio.to_thread(client.wait_for, *arguments, **more)


async def check_wait_for(kit: Kit) -> None:
    """A wait ends with each form of a condition, and raises WaitTimeout with the last state."""
    inside = {"namespace": kit.namespace}
    async with entered(kit.client()) as client:
        name = kit.full("a")
        task = later(0.5, kit.create, "a", {"i": "1"})
        found = await waited(kit, client, "configmaps", name, lambda each: True, **inside)
        equal((found.name, found["data"]), (name, {"i": "1"}), "a function, for a later object")
        await task
        task = later(0.3, kit.change, "a", data={"i": "2"})
        found = await waited(kit, client, "configmaps", name, "object.data.i == '2'", **inside)
        equal(found["data"], {"i": "2"}, "CEL")
        found = await waited(
            kit, client, ConfigMap, name, lambda each: each.data["i"] == "2", **inside
        )
        equal((type(found), found.data["i"]), (ConfigMap, "2"), "typed")
        kit.change("a", data={"i": "3"})
        states: list[str] = []

        def third(each: Any) -> bool:
            states.append(each["data"]["i"])
            return bool(each["data"]["i"] == "3")

        await waited(kit, client, "configmaps", name, third, **inside)
        equal(states, ["3"], "the wait sees the writes before it")

        began = time.monotonic()
        error = await raises(
            kubeconnect.WaitTimeout,
            lambda: waited(
                kit, client, "configmaps", name, lambda each: False, timeout=1, **inside
            ),
        )
        assert 0.9 <= time.monotonic() - began < SLACK_SECONDS
        equal((error.object.name, error.object["data"]), (name, {"i": "3"}), "the last state")
        assert name in error.message, error.message
        error = await raises(
            kubeconnect.WaitTimeout,
            lambda: waited(
                kit, client, ConfigMap, name, "object.data.i == 'x'", timeout=1, **inside
            ),
        )
        equal(
            (type(error.object), error.object["data"]), (kubeconnect.Object, {"i": "3"}), "of a CEL"
        )
        error = await raises(
            kubeconnect.WaitTimeout,
            lambda: waited(
                kit, client, "configmaps", "nothing", "object.data.i == 'x'", timeout=1, **inside
            ),
        )
        equal(error.object, None)
        assert "nothing" in error.message, error.message
        assert isinstance(error, kubeconnect.DeadlineExceeded)

        def fails(each: Any) -> bool:
            raise RuntimeError("mine")

        await raises(RuntimeError, lambda: waited(kit, client, "configmaps", name, fails, **inside))
        await raises(
            kubeconnect.InvalidArgument,
            lambda: waited(kit, client, "configmaps", name, "object.", timeout=10, **inside),
            "an invalid CEL",
        )
        await raises(
            kubeconnect.NotFound,
            lambda: waited(kit, client, "nosuchthings", name, "deleted", timeout=10, **inside),
            "no resource",
        )

        equal(
            await waited(kit, client, "configmaps", "nothing", "deleted", timeout=10, **inside),
            None,
        )
        task = later(0.5, kit.delete, "a")
        found = await waited(kit, client, "configmaps", name, "deleted", timeout=20, **inside)
        equal((found.name, found.get("data")), (name, None), "deleted: the metadata")
        await task
        old = kit.create("b")

        def recreate() -> None:
            kit.delete("b")
            kit.create("b")

        task = later(0.5, recreate)
        found = await waited(
            kit, client, "configmaps", kit.full("b"), "deleted", timeout=20, **inside
        )
        equal(found.uid, old.uid, "another one has its name")
        await task
        await raises(
            kubeconnect.WaitTimeout,
            lambda: waited(
                kit, client, "configmaps", kit.full("b"), "deleted", timeout=0.7, **inside
            ),
        )
    async with entered(kit.client(timeout=1)) as client:
        began = time.monotonic()
        await raises(
            kubeconnect.WaitTimeout,
            lambda: waited(kit, client, "configmaps", "nothing", lambda each: True, **inside),
            "the client's timeout",
        )
        assert 0.9 <= time.monotonic() - began < SLACK_SECONDS
    proxy = Proxy(kit.address)
    async with entered(kit.client(proxy.address)) as client:
        proxy.freeze()
        began = time.monotonic()
        with contextlib.suppress(kubeconnect.DeadlineExceeded):
            await waited(kit, client, "configmaps", "b", lambda each: False, timeout=1, **inside)
        assert 0.9 <= time.monotonic() - began < SLACK_SECONDS
        proxy.mend()


async def check_conditions(kit: Kit) -> None:
    """condition=… is met by a condition of the current generation."""
    inside = {"namespace": kit.namespace}
    web = deployment(kit, "web", replicas=0)
    async with entered(kit.client()) as client:
        name = kit.full("web")
        await result_of(client.apply(web))
        found = await waited(
            kit, client, "deployments", name, "condition=Available", timeout=30, **inside
        )
        equal(found.name, name)
        condition = {"type": "Custom", "status": "Unknown"}

        def set_condition(status: str) -> None:
            kit.admin.patch(
                "deployments",
                name,
                {"status": {"conditions": [{**condition, "status": status}]}},
                type="strategic",
                subresource="status",
                **inside,
            )

        await asyncio.to_thread(set_condition, "False")
        await raises(
            kubeconnect.WaitTimeout,
            lambda: waited(
                kit, client, "deployments", name, "condition=Custom", timeout=1, **inside
            ),
            "False",
        )
        await waited(
            kit, client, "deployments", name, "condition=Custom=False", timeout=20, **inside
        )
        await waited(
            kit, client, "deployments", name, "condition=custom=false", timeout=20, **inside
        )
        # Conditions without a generation of their own are of the observed generation.
        await waited(kit, client, "deployments", name, "rollout", timeout=30, **inside)


async def check_rollouts(kit: Kit) -> None:
    """The rollout of a Deployment, and one that exceeds its progress deadline."""
    inside = {"namespace": kit.namespace}
    async with entered(kit.client()) as client:
        await result_of(client.apply(deployment(kit, "web", 2)))
        name = kit.full("web")
        found = await waited(kit, client, "deployments", name, "rollout", timeout=60, **inside)
        equal(found["status"]["availableReplicas"], 2)
        result = await result_of(client.scale("deployments", name, 3, **inside))
        equal((result.object["kind"], result.object["spec"]["replicas"]), ("Scale", 3))
        found = await waited(
            kit,
            client,
            "deployments",
            name,
            "rollout",
            timeout=60,
            min_resource_version=result.object.resource_version,
            **inside,
        )
        equal(found["status"]["availableReplicas"], 3)
        dry = await result_of(client.scale("deployments", name, 9, dry_run=True, **inside))
        equal(dry.object["spec"]["replicas"], 9)
        restarted = await result_of(client.restart("deployments", name, **inside))
        assert (
            "kubectl.kubernetes.io/restartedAt"
            in restarted.object["spec"]["template"]["metadata"]["annotations"]
        )
        equal(restarted.object["spec"]["replicas"], 3)
        found = await waited(kit, client, "deployments", name, "rollout", timeout=90, **inside)
        equal((found["status"]["updatedReplicas"], found["status"]["replicas"]), (3, 3))

        bad = deployment(kit, "bad", 1, progressDeadlineSeconds=1)
        bad["spec"]["template"]["spec"]["schedulerName"] = "nobody"
        await result_of(client.apply(bad))
        began = time.monotonic()
        error = await raises(
            kubeconnect.WaitTimeout,
            lambda: waited(
                kit, client, "deployments", kit.full("bad"), "rollout", timeout=50, **inside
            ),
        )
        assert time.monotonic() - began < 40, "at once"
        equal(error.object.name, kit.full("bad"))
        assert "progress deadline" in error.message, error.message

        for call in (
            lambda: client.scale("deployments", "nothing", 1, **inside),
            lambda: client.scale("configmaps", "nothing", 1, **inside),
            lambda: client.restart("deployments", "nothing", **inside),
        ):
            await raises(kubeconnect.NotFound, call)
        kit.create("c")
        await raises(
            kubeconnect.Invalid,
            lambda: client.restart("configmaps", kit.full("c"), **inside),
            "restart",
        )
        await raises(
            kubeconnect.Invalid, lambda: client.scale("deployments", name, -1, **inside), "scale"
        )

        pods = list(
            kit.admin.list("pods", label_selector=f"app={name}", consistency="latest", **inside)
        )
        budget = {
            "metadata": {"name": name},
            "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": name}}},
        }
        kit.admin.create("poddisruptionbudgets.policy", budget, **inside)
        await raises(
            kubeconnect.TooManyRequests, lambda: client.evict(pods[0].name, **inside), "budget"
        )
        kit.admin.delete("poddisruptionbudgets.policy", name, **inside)
        await raises(
            kubeconnect.Conflict, lambda: client.evict(pods[0].name, uid="other", **inside), "uid"
        )
        await raises(kubeconnect.NotFound, lambda: client.evict("nothing", **inside))
        await result_of(client.evict(pods[0].name, uid=pods[0].uid, dry_run=True, **inside))
        equal(kit.admin.get("pods", pods[0].name, consistency="latest", **inside).deleting, False)
        await result_of(
            client.evict(pods[0].name, uid=pods[0].uid, grace_period_seconds=0, **inside)
        )
        found = await waited(kit, client, "pods", pods[0].name, "deleted", timeout=40, **inside)
        assert found is None or found.uid == pods[0].uid


async def check_apply(kit: Kit) -> None:
    """Apply creates, changes, and removes what its manager no longer applies."""
    async with entered(kit.client()) as client:
        name = kit.full("a")
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": kit.namespace},
            "data": {"a": "1", "b": "1"},
        }
        result = await result_of(client.apply(body, dry_run=True))
        equal(result.created, True)
        await raises(
            kubeconnect.NotFound,
            lambda: kit.admin.get(
                "configmaps", name, namespace=kit.namespace, consistency="latest"
            ),
        )
        result = await result_of(client.apply(body))
        equal((result.created, result.object["data"]), (True, {"a": "1", "b": "1"}))
        result = await result_of(client.apply({**body, "data": {"a": "2"}}, namespace="ignored"))
        equal((result.created, result.object["data"]), (False, {"a": "2"}))
        error = await raises(
            kubeconnect.Conflict,
            lambda: client.apply({**body, "data": {"a": "3"}}, field_manager="other"),
        )
        equal([each.field for each in error.causes], [".data.a"])
        result = await result_of(
            client.apply({**body, "data": {"a": "3"}}, field_manager="other", force=True)
        )
        equal(result.object["data"], {"a": "3"})
        for broken in (
            {},
            {**body, "kind": ""},
            {**body, "metadata": {}},
            {"kind": "X", "metadata": {"name": "x"}},
        ):
            await raises(ValueError, lambda b=broken: client.apply(b), str(broken))
        await raises(
            kubeconnect.Invalid,
            lambda: client.apply({**body, "metadata": {"name": "A_B"}}, namespace=kit.namespace),
        )
        await raises(kubeconnect.NotFound, lambda: client.apply({**body, "kind": "Nothing"}))
        message = ConfigMap(
            metadata=ObjectMeta(name=kit.full("m"), labels={"check": kit.name}), data={"x": "y"}
        )
        result = await result_of(client.apply(message, namespace=kit.namespace, field_manager="me"))
        equal((type(result.object), dict(result.object.data)), (ConfigMap, {"x": "y"}))
        for validation in ("warn", "strict"):
            await raises(
                kubeconnect.Invalid,
                lambda v=validation: client.apply({**body, "typo": 1}, field_validation=v),
                "an unknown field",
            )
        unknown = {"metadata": {"name": kit.full("u")}, "typo": 1}
        result = await result_of(client.create("configmaps", unknown, namespace=kit.namespace))
        assert result.warnings, "an unknown field is a warning"

        documents = [
            None,
            {**body, "metadata": {"name": kit.full("y1")}},
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [
                    {**body, "metadata": {"name": kit.full("y2")}},
                    {
                        "apiVersion": "v1",
                        "kind": "ServiceAccount",
                        "metadata": {"name": kit.full("y3")},
                    },
                ],
            },
        ]
        text = "---\n" + yaml.safe_dump_all(documents) + "\n---\n# only a comment\n---\n"
        results = await result_of(client.apply_yaml(text, namespace=kit.namespace))
        equal([each.object.name for each in results], [kit.full(f"y{i}") for i in (1, 2, 3)])
        equal([each.created for each in results], [True] * 3)
        results = await result_of(client.apply_yaml(text.encode(), namespace=kit.namespace))
        equal([each.created for each in results], [False] * 3)
        good = yaml.safe_dump({**body, "metadata": {"name": kit.full("y4")}})
        for bad in ("a: [", "just text", "- a\n- b\n", "kind: ConfigMap\n"):
            await raises(
                ValueError,
                lambda b=bad: client.apply_yaml(good + "---\n" + b, namespace=kit.namespace),
                bad,
            )
        await raises(
            kubeconnect.NotFound,
            lambda: kit.admin.get(
                "configmaps", kit.full("y4"), namespace=kit.namespace, consistency="latest"
            ),
            "nothing is applied before",
        )
        refused = yaml.safe_dump(
            {**body, "metadata": {"name": kit.full("y5")}, "data": {"bad key!": "x"}}
        )
        error = await raises(
            kubeconnect.ApplyError,
            lambda: client.apply_yaml(refused + "---\n" + good, namespace=kit.namespace),
        )
        assert kit.full("y5") in error.message, error.message
        equal([type(each).__name__ for each in error.results], ["Invalid", "PatchResult"])
        kit.admin.get("configmaps", kit.full("y4"), namespace=kit.namespace, consistency="latest")
        equal(await result_of(client.apply_yaml("")), [], "an empty text")


async def check_identity(kit: Kit) -> None:
    """The caller's identity and permissions."""
    async with entered(kit.client()) as client:
        identity = await result_of(client.who_am_i())
        assert identity.username, identity
        assert "system:authenticated" in identity.groups, identity
        equal(await result_of(client.can_i("delete", "pods", namespace=kit.namespace)), True)
        checks = [
            AccessCheck("list", "secrets"),
            AccessCheck("update", "deployments", namespace=kit.namespace, subresource="scale"),
        ]
        decisions = await result_of(client.check_access(iter(checks)))
        equal([each.allowed for each in decisions], [True, True])
        equal(await result_of(client.check_access([])), (), "no checks")
        await raises(kubeconnect.NotFound, lambda: client.can_i("get", "nosuchthings"))
        await raises(
            kubeconnect.InvalidArgument,
            lambda: client.check_access([AccessCheck("get", "pods")] * 101),
        )


async def check_closed_client(kit: Kit) -> None:
    """All calls of a closed client raise Cancelled."""
    client = kit.client()
    kit.create("a")
    inside = {"namespace": kit.namespace}
    body = {"metadata": {"name": "x"}}
    whole = {"apiVersion": "v1", "kind": "ConfigMap", **body}
    await result_of(client.list("configmaps", **inside))

    async def consumed(made: Any) -> None:
        if kit.is_async:
            async with made as events:
                async for _ in events:
                    return
        else:
            with made as events:
                for _ in events:
                    return

    open_watch = client.watch("configmaps", **kit.selection())
    if kit.is_async:
        ended = asyncio.ensure_future(_drain_async(open_watch))
    else:
        ended = asyncio.ensure_future(asyncio.to_thread(_drain, open_watch))
    await asyncio.sleep(0.7)
    await result_of(client.close())
    await raises(
        kubeconnect.Cancelled, lambda: asyncio.wait_for(ended, 10), "a watch that was open"
    )
    calls = {
        "get": lambda: client.get("configmaps", "a", **inside),
        "list": lambda: client.list("configmaps", **inside),
        "count": lambda: client.count("configmaps", **inside),
        "table": lambda: client.table("configmaps", **inside),
        "create": lambda: client.create("configmaps", body, **inside),
        "update": lambda: client.update("configmaps", body, **inside),
        "patch": lambda: client.patch("configmaps", "x", {}, type="merge", **inside),
        "delete": lambda: client.delete("configmaps", "x", **inside),
        "delete_collection": lambda: client.delete_collection("configmaps", **inside),
        "apply": lambda: client.apply(whole, **inside),
        "apply_yaml": lambda: client.apply_yaml(yaml.safe_dump(whole), **inside),
        "scale": lambda: client.scale("deployments", "x", 1, **inside),
        "restart": lambda: client.restart("deployments", "x", **inside),
        "evict": lambda: client.evict("x", **inside),
        "cordon": lambda: client.cordon("x"),
        "uncordon": lambda: client.uncordon("x"),
        "can_i": lambda: client.can_i("get", "pods"),
        "check_access": lambda: client.check_access([AccessCheck("get", "pods")]),
        "who_am_i": lambda: client.who_am_i(),
        "schema": lambda: client.schema("pods"),
        "resource_types": lambda: client.resource_types(),
        "wait_for": lambda: client.wait_for("configmaps", "a", "deleted", **inside),
        "wait_for with a version": lambda: client.wait_for(
            "configmaps", "a", lambda each: True, min_resource_version="1", timeout=5, **inside
        ),
        "watch": lambda: consumed(client.watch("configmaps", **inside)),
        "watch_many": lambda: consumed(client.watch_many({"a": WatchSpec("configmaps")})),
        "logs": lambda: consumed(client.logs("x", **inside)),
        "acquire": lambda: kit.public("LeaderElector")(client, "x", **inside).acquire(timeout=5),
        "controller": lambda: _controller(kit, client).run(handle_signals=False),
    }
    faults = []
    for name, call in calls.items():
        try:
            await asyncio.wait_for(raises(kubeconnect.Cancelled, call, name), 20)
        except (AssertionError, TimeoutError) as error:
            faults.append(f"{name}: {error}")
    equal(faults, [])


async def check_watch_ends(kit: Kit) -> None:
    """A watch ends when it is closed, and raises after its timeout."""
    kit.create("a")
    async with entered(kit.client()) as client:
        for timeout in (1.0, 2.5):
            watch = client.watch("configmaps", **kit.selection(timeout=timeout))
            began = time.monotonic()
            drain: Any = _drain_async(watch) if kit.is_async else asyncio.to_thread(_drain, watch)
            await raises(kubeconnect.DeadlineExceeded, lambda d=drain: asyncio.wait_for(d, 20))
            assert timeout - 0.1 <= time.monotonic() - began < SLACK_SECONDS
        watch = client.watch("configmaps", **kit.selection())
        drain = asyncio.ensure_future(
            _drain_async(watch) if kit.is_async else asyncio.to_thread(_drain, watch)
        )
        await asyncio.sleep(0.5)
        await result_of(watch.close())
        await asyncio.wait_for(drain, 10)

        for i in range(5):
            kit.create(f"p{i}")
        listed = await result_of(
            client.list("configmaps", **kit.selection(page_size=2, consistency="latest"))
        )
        equal((listed.total, len(listed), bool(listed)), (6, 6, True))
        equal(len(await result_of(listed.all())), 6)
        equal(listed[1].name, kit.full("p0"))
        if kit.is_async:
            await raises(LookupError, lambda: listed[5], "beyond the first page")
        else:
            equal(listed[5].name, kit.full("p4"))
            await raises(IndexError, lambda: listed[6])
        empty = await result_of(
            client.list("configmaps", namespace=kit.namespace, label_selector="no=no")
        )
        equal((len(empty), bool(empty)), (0, False))
        again = await result_of(
            client.list("configmaps", **kit.selection(page_size=2, consistency="latest"))
        )
    await raises(kubeconnect.Cancelled, lambda: again.all(), "further pages of a closed client")
    equal(len(again), 6)


def _controller(kit: Kit, client: Any) -> Any:
    controller = kit.public("Controller")(
        client, "configmaps", namespace=kit.namespace, name=kit.name
    )

    async def reconcile(key: Any) -> None:
        pass

    controller.reconcile(reconcile)
    return controller


def _drain(events: Any) -> None:
    with events:
        for _ in events:
            pass


async def _drain_async(events: Any) -> None:
    async with events:
        async for _ in events:
            pass


async def check_call_timeouts(kit: Kit) -> None:
    """Calls to a service that does not respond end after their timeout."""
    proxy = Proxy(kit.address)
    proxy.freeze()
    inside = {"namespace": kit.namespace}
    async with entered(kit.client(proxy.address, timeout=1)) as client:
        for call in (
            lambda: client.get("configmaps", "a", **inside),
            lambda: client.list("configmaps", **inside),
            lambda: client.create(
                "configmaps", {"metadata": {"name": kit.full("never")}}, **inside
            ),
            lambda: client.who_am_i(),
            lambda: client.scale("deployments", "x", 1, **inside),
        ):
            began = time.monotonic()
            await raises(kubeconnect.DeadlineExceeded, call)
            assert 0.9 <= time.monotonic() - began < SLACK_SECONDS
        began = time.monotonic()
        await raises(
            kubeconnect.DeadlineExceeded,
            lambda: client.get("configmaps", "a", timeout=0.3, **inside),
        )
        assert 0.25 <= time.monotonic() - began < SLACK_SECONDS
    async with entered(kit.client("http://127.0.0.1:9")) as client:
        began = time.monotonic()
        await raises(kubeconnect.Unavailable, lambda: client.get("configmaps", "a", **inside))
        assert time.monotonic() - began < SLACK_SECONDS, "a service that was never reached"


async def check_preconditions(kit: Kit) -> None:
    """Preconditions and validation raise the documented errors."""
    inside = {"namespace": kit.namespace}
    a = kit.create("a", {"i": "1"})
    async with entered(kit.client()) as client:
        kit.change("a", data={"i": "2"})
        await raises(
            kubeconnect.Conflict, lambda: client.update("configmaps", a.to_dict()), "update"
        )
        for more in ({"uid": "x"}, {"resource_version": a.resource_version}):
            await raises(
                kubeconnect.Conflict,
                lambda m=more: client.delete("configmaps", a.name, **m, **inside),
            )
            await raises(
                kubeconnect.Conflict,
                lambda m=more: client.patch(
                    "configmaps", a.name, {"data": {}}, type="merge", **m, **inside
                ),
            )
            await raises(
                kubeconnect.Conflict,
                lambda m=more: client.update(
                    "configmaps", {"metadata": {"name": a.name}, "data": {}}, **m, **inside
                ),
            )
        await raises(
            kubeconnect.AlreadyExists,
            lambda: client.create("configmaps", {"metadata": {"name": a.name}}, **inside),
        )
        await raises(kubeconnect.NotFound, lambda: client.delete("configmaps", "nothing", **inside))
        await raises(
            ValueError, lambda: client.patch("configmaps", a.name, {}, type="nothing", **inside)
        )
        for kind, body in (
            ("json", [{"op": "add", "path": "/data/j", "value": "1"}]),
            (PatchType.MERGE, {"data": {"m": "1"}}),
            ("strategic", {"data": {"s": "1"}}),
            ("apply", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"y": "1"}}),
        ):
            result = await result_of(
                client.patch("configmaps", a.name, body, type=kind, field_manager="me", **inside)
            )
        equal(result.object["data"], {"i": "2", "j": "1", "m": "1", "s": "1", "y": "1"})
        dry = await result_of(client.delete("configmaps", a.name, dry_run=True, **inside))
        del dry
        result = await result_of(client.delete("configmaps", a.name, uid=a.uid, **inside))
        found = await result_of(
            client.list("configmaps", **kit.selection(min_resource_version=result.resource_version))
        )
        equal(found.total, 0)
        for i in range(3):
            kit.create(f"d{i}")
        result = await result_of(
            client.delete_collection("configmaps", **kit.selection(dry_run=True))
        )
        equal((result.deleted_count, len(kit.cluster())), (3, 3))
        result = await result_of(client.delete_collection("configmaps", **kit.selection()))
        equal((result.deleted_count, kit.cluster()), (3, {}))


async def check_typed(kit: Kit) -> None:
    """Messages have the values of the JSON."""
    requests = {"cpu": "1500m", "memory": "0.5Gi", "ephemeral-storage": "1e3", "example.com/n": "3"}
    pod = Pod(
        metadata=ObjectMeta(
            name=kit.full("p"),
            labels={"check": kit.name},
            annotations={"u": "ö\n"},
        ),
        spec=PodSpec(
            containers=[
                Container(
                    name="c",
                    image="example.com/c:1",
                    resources=ResourceRequirements(
                        requests=to_quantities(requests), limits=to_quantities({"example.com/n": 3})
                    ),
                )
            ],
            schedulerName="nobody",
        ),
    )
    async with entered(kit.client()) as client:
        created = (await result_of(client.create(pod, namespace=kit.namespace))).object
        plain = kit.admin.get("pods", kit.full("p"), namespace=kit.namespace, consistency="latest")
        equal(strip(to_dict(created)), strip(plain.to_dict()), "to_dict")
        got = await result_of(
            client.get(
                Pod,
                kit.full("p"),
                namespace=kit.namespace,
                min_resource_version=plain.resource_version,
            )
        )
        equal(to_datetime(got.metadata.creationTimestamp), plain.created)
        equal(to_datetime(got.metadata.deletionTimestamp), None)
        equal(to_datetime(got.status.startTime), None)
        want = {
            "cpu": "1.5",
            "memory": "536870912",
            "ephemeral-storage": "1000",
            "example.com/n": "3",
        }
        decimals = to_decimals(got.spec.containers[0].resources.requests)
        equal({key: f"{value.normalize():f}" for key, value in decimals.items()}, want)
        equal(dict(got.metadata.annotations), {"u": "ö\n"})
        equal(got.spec.nodeName, "")
        equal(got.spec.HasField("terminationGracePeriodSeconds"), True)
        equal(got.spec.HasField("activeDeadlineSeconds"), False)
        got.metadata.labels["more"] = "x"
        updated = (await result_of(client.update(got))).object
        equal(updated.metadata.labels["more"], "x")
        await raises(kubeconnect.Conflict, lambda: client.update(got), "an old version")
        equal((await result_of(client.count(Pod, **kit.selection(consistency="latest")))).total, 1)
        listed = await result_of(client.list(Pod, **kit.selection(consistency="latest")))
        equal([each.metadata.uid for each in await result_of(listed.all())], [created.metadata.uid])
        equal(len(listed), 1)
        patched = await result_of(
            client.patch(
                Pod,
                kit.full("p"),
                {"metadata": {"labels": {"more": None}}},
                type="merge",
                namespace=kit.namespace,
            )
        )
        assert "more" not in patched.object.metadata.labels
        for text, value in {
            "1": "1",
            "1k": "1000",
            "1Ki": "1024",
            "-1.5": "-1.5",
            "1e3": "1000",
            "1E": "1E+18",
            "0.1n": "1E-9",
            "100m": "0.1",
            "": None,
            "1x": None,
            "1 k": None,
        }.items():
            if value is None:
                await raises(ValueError, lambda t=text: to_decimal(t), text)
            else:
                assert to_decimal(text) == type(to_decimal(text))(value), (text, to_decimal(text))
        await result_of(
            client.delete(Pod, kit.full("p"), namespace=kit.namespace, grace_period_seconds=0)
        )


def strip(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object without its managed fields."""
    value = {**value, "metadata": {**value["metadata"]}}
    value["metadata"].pop("managedFields", None)
    return value


if __name__ == "__main__":
    main(globals())
