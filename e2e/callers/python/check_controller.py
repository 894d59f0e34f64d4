"""Checks of Controller and LeaderElector against what the documentation says. See check_kit.py.

The ConfigMaps of a check are reconciled, and own Secrets.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from check_kit import SLACK_SECONDS, Kit, entered, equal, main, raises, result_of, until

import kubeconnect
from kubeconnect import WatchSpec, owner_reference
from kubeconnect.k8s.core.v1 import ConfigMap, Secret
from kubeconnect.k8s.meta.v1 import ObjectMeta

FINALIZER = "example.com/check"


class Running:
    """A controller that runs in a thread or task."""

    def __init__(self, kit: Kit, controller: Any) -> None:
        """Run a controller."""
        self.controller = controller
        if kit.is_async:
            self.ended = asyncio.ensure_future(controller.run(handle_signals=False))
        else:
            run = asyncio.to_thread(controller.run, handle_signals=False)
            self.ended = asyncio.ensure_future(run)

    async def stop(self) -> None:
        """Stop, and raise the error of the run."""
        self.controller.stop()
        await asyncio.wait_for(self.ended, 40)


def of_kit(kit: Kit, client: Any, **arguments: Any) -> Any:
    """Return a controller of the ConfigMaps of a check."""
    spec = WatchSpec(arguments.pop("resource", "configmaps"), **kit.selection())
    return kit.public("Controller")(client, spec, name=kit.name, **arguments)


def reconciles(kit: Kit, controller: Any, function: Callable[[Any], Any]) -> None:
    """Set a function that is not async as the reconcile function."""

    async def function_async(key: Any) -> Any:
        return function(key)

    controller.reconcile(function_async if kit.is_async else function)


def secret(kit: Kit, name: str, owner: Any, **labels: str) -> Any:
    """Create a Secret that a ConfigMap owns."""
    metadata = {
        "name": kit.full(name),
        "labels": {"check": kit.name, **labels},
        "ownerReferences": [owner_reference(owner)],
    }
    return kit.admin.create("secrets", {"metadata": metadata}, namespace=kit.namespace).object


async def check_triggers(kit: Kit) -> None:
    """The function is called for objects, owners, mapped keys, delays and errors."""
    a, b = kit.create("a"), kit.create("b")
    calls: list[str] = []
    results: dict[str, list[Any]] = {}

    def reconcile(key: Any) -> Any:
        equal((key.namespace, type(key)), (kit.namespace, kubeconnect.ObjectKey))
        name = key.name.removeprefix(kit.name + "-")
        calls.append(name)
        result = results.get(name, [])
        value = result.pop(0) if result else None
        if isinstance(value, Exception):
            raise value
        return value

    async def next_call(name: str, what: str) -> None:
        with contextlib.suppress(AssertionError):
            await until(lambda: name in calls, what, 15)
        equal((set(calls), bool(calls)), ({name}, True), what)
        await asyncio.sleep(0.3)
        calls.clear()

    async with entered(kit.client()) as client:
        controller = of_kit(
            kit,
            client,
            owns=[WatchSpec("secrets", **kit.selection())],
            watches=[
                (
                    WatchSpec("serviceaccounts", **kit.selection()),
                    lambda each: [(each.namespace, kit.full(each.labels["for"]))],
                )
            ],
        )
        reconciles(kit, controller, reconcile)
        running = Running(kit, controller)
        await until(lambda: len(calls) == 2, "the objects at the start")
        equal(sorted(calls), ["a", "b"])
        calls.clear()
        kit.change("a", data={"x": "1"})
        await next_call("a", "a change")
        kit.create("c")
        await next_call("c", "an addition")
        kit.delete("c")
        await next_call("c", "a deletion")
        owned = secret(kit, "s", b)
        await next_call("b", "an owned object is added")
        equal([each.name for each in controller.owned("secrets", b)], [owned.name])
        equal(controller.owned("secrets", a), [])
        kit.admin.patch(
            "secrets", owned.name, {"data": {"x": "eQ=="}}, type="merge", namespace=kit.namespace
        )
        await next_call("b", "an owned object is changed")
        other = [owner_reference(a)]
        kit.admin.patch(
            "secrets",
            owned.name,
            {"metadata": {"ownerReferences": other}},
            type="merge",
            namespace=kit.namespace,
        )
        await until(lambda: {"a", "b"} <= set(calls), "both the old and the new owner", 15)
        await asyncio.sleep(0.3)
        calls.clear()
        kit.admin.delete("secrets", owned.name, namespace=kit.namespace)
        await next_call("a", "an owned object is deleted")
        plain = {"metadata": {"name": kit.full("p"), "labels": {"check": kit.name}}}
        kit.admin.create("secrets", plain, namespace=kit.namespace)
        account = {"metadata": {"name": kit.full("sa"), "labels": {"check": kit.name, "for": "a"}}}
        kit.admin.create("serviceaccounts", account, namespace=kit.namespace)
        await next_call("a", "a mapped key")
        kit.admin.delete("serviceaccounts", kit.full("sa"), namespace=kit.namespace)
        await next_call("a", "the deletion of a mapped object")

        for delay in (0.4, timedelta(milliseconds=400)):
            results["a"] = [delay]
            began = time.monotonic()
            controller.enqueue((kit.namespace, kit.full("a")))
            await until(lambda: len(calls) == 2, "the delay")
            assert time.monotonic() - began >= 0.4
            calls.clear()
        results["a"] = [RuntimeError(str(i)) for i in range(6)]
        began = time.monotonic()
        controller.enqueue((kit.namespace, kit.full("a")), delay=0.2)
        await until(lambda: len(calls) == 7, "the retries")
        # 0.2 + 0.005 * (1 + 2 + 4 + 8 + 16 + 32), of which up to a fifth is left out.
        assert time.monotonic() - began >= 0.45
        equal(set(calls), {"a"})
        calls.clear()
        equal(controller.store().get(kit.namespace, a.name).uid, a.uid)
        await raises(KeyError, lambda: controller.store("pods"))
        await raises(KeyError, lambda: controller.owned("pods", a))
        equal(controller.stopping, False)
        await running.stop()
        equal(controller.stopping, True)
        kit.change("a", data={"x": "2"})
        await asyncio.sleep(0.5)
        equal(calls, [])
        await raises(RuntimeError, lambda: controller.run(handle_signals=False), "run again")


async def check_key_is_exclusive(kit: Kit) -> None:
    """The function never runs twice at the same time for one key, and sees the last state."""
    for i in range(5):
        kit.create(f"c{i}", {"n": "0"})
    running_keys: set[Any] = set()
    most, faults = [0], []
    seen: dict[str, str] = {}
    lock = threading.Lock()
    async with entered(kit.client()) as client:
        controller = of_kit(kit, client, workers=4)

        def begin(key: Any) -> None:
            with lock:
                if key in running_keys:
                    faults.append(key)
                running_keys.add(key)
                most[0] = max(most[0], len(running_keys))

        def end(key: Any) -> None:
            seen[key.name] = controller.store().get(*key)["data"]["n"]
            with lock:
                running_keys.discard(key)

        def reconcile(key: Any) -> None:
            begin(key)
            time.sleep(0.03)
            end(key)

        async def reconcile_async(key: Any) -> None:
            begin(key)
            await asyncio.sleep(0.03)
            end(key)

        controller.reconcile(reconcile_async if kit.is_async else reconcile)
        running = Running(kit, controller)
        for n in range(1, 30):
            await asyncio.to_thread(kit.change, f"c{n % 5}", data={"n": str(n)})
        want = {
            each.name: each["data"]["n"]
            for each in kit.admin.list("configmaps", **kit.selection(), consistency="latest")
        }
        await until(lambda: seen == want, "the last states", 15)
        await running.stop()
        equal(faults, [])
        assert 1 < most[0] <= 4, most


async def check_errors(kit: Kit) -> None:
    """Run raises what ended it."""
    async with entered(kit.client()) as client:
        await raises(
            RuntimeError, lambda: of_kit(kit, client).run(handle_signals=False), "no function"
        )
        for arguments, error in (
            ({"owns": ["nosuchthings"]}, kubeconnect.NotFound),
            ({"watches": [("nosuchthings", lambda each: [])]}, kubeconnect.NotFound),
        ):
            controller = of_kit(kit, client, **arguments)
            reconciles(kit, controller, lambda key: None)
            running = Running(kit, controller)
            await raises(error, lambda r=running: asyncio.wait_for(r.ended, 20))
        controller = of_kit(kit, client)
        reconciles(kit, controller, lambda key: None)
        controller.stop()
        await asyncio.wait_for(Running(kit, controller).ended, 20)  # stopped before
    async with entered(kit.client("http://127.0.0.1:9")) as client:
        controller = of_kit(kit, client)
        reconciles(kit, controller, lambda key: None)
        await raises(
            kubeconnect.Unavailable, lambda: asyncio.wait_for(Running(kit, controller).ended, 20)
        )
    called: list[Any] = []
    client = kit.client()
    kit.create("a")
    controller = of_kit(kit, client)
    reconciles(kit, controller, called.append)
    running = Running(kit, controller)
    await until(lambda: called, "a call")
    await result_of(client.close())
    await raises(
        kubeconnect.Cancelled, lambda: asyncio.wait_for(running.ended, 20), "a closed client"
    )


async def check_stop_by_function(kit: Kit) -> None:
    """The function may stop the controller; no further call begins, and those that run end."""
    for i in range(5):
        kit.create(f"c{i}")
    ended: list[Any] = []
    async with entered(kit.client()) as client:
        controller = of_kit(kit, client)

        def reconcile(key: Any) -> float:
            controller.stop()
            ended.append(key)
            return 0.01

        reconciles(kit, controller, reconcile)
        await asyncio.wait_for(Running(kit, controller).ended, 20)
        equal(len(ended), 1)
        assert controller.store().closed


async def check_finalizers(kit: Kit) -> None:
    """The finalizer is added before the first call, and removed after the function has returned."""
    kit.create("a")
    other = {
        "metadata": {
            "name": kit.full("o"),
            "labels": {"check": kit.name},
            "finalizers": ["example.com/other"],
        }
    }
    kit.admin.create("configmaps", other, namespace=kit.namespace)
    reconciled: list[tuple[str, Any, bool]] = []
    finalized: list[str] = []
    results: list[Any] = [RuntimeError("again"), 0.05, None]

    async with entered(kit.client()) as client:
        controller = of_kit(kit, client)

        def reconcile(key: Any) -> None:
            each = controller.store().get(*key)
            if each:
                reconciled.append((key.name, each.metadata.get("finalizers"), each.deleting))

        def finalize(each: Any) -> Any:
            assert each.deleting
            finalized.append(each.name)
            result = results.pop(0) if results else None
            if isinstance(result, Exception):
                raise result
            return result

        async def finalize_async(each: Any) -> Any:
            return finalize(each)

        reconciles(kit, controller, reconcile)
        controller.finalize(FINALIZER)(finalize_async if kit.is_async else finalize)
        running = Running(kit, controller)
        await until(
            lambda: {name for name, _, _ in reconciled} == {kit.full("a"), kit.full("o")}, "calls"
        )
        kit.delete("a")
        await until(lambda: kit.full("a") not in kit.cluster(), "the deletion")
        equal(finalized, [kit.full("a")] * 3)
        kit.delete("o")
        await until(lambda: len(finalized) == 4, "the other one")
        await until(
            lambda: (
                kit.admin.get(
                    "configmaps", kit.full("o"), namespace=kit.namespace, consistency="latest"
                ).metadata.get("finalizers")
                == ["example.com/other"]
            ),
            "the other finalizer is kept",
        )
        await asyncio.sleep(0.5)
        equal(
            finalized[3:], [kit.full("o")], "an object without the finalizer is not finalized again"
        )
        equal([each for each in reconciled if FINALIZER not in (each[1] or []) or each[2]], [])
        await running.stop()
        kit.change("o", metadata={"finalizers": None})


async def check_typed(kit: Kit) -> None:
    """A controller of messages."""
    kit.create("a")
    found: list[Any] = []
    async with entered(kit.client()) as client:
        controller = of_kit(
            kit,
            client,
            resource=ConfigMap,
            owns=[Secret],
            namespace=kit.namespace,
            indexes={ConfigMap: {"x": "data.x"}},
        )

        def reconcile(key: Any) -> None:
            each = controller.store().get(*key)
            if each:
                assert isinstance(each, ConfigMap)
                found.append([s.metadata.name for s in controller.owned(Secret, each)])

        reconciles(kit, controller, reconcile)
        running = Running(kit, controller)
        await until(lambda: found == [[]], "a call")
        owner = kit.admin.get(
            ConfigMap, kit.full("a"), namespace=kit.namespace, consistency="latest"
        )
        secret(kit, "s", owner)
        await until(lambda: found[-1] == [kit.full("s")], "the owned one")
        await running.stop()


async def check_leader_election(kit: Kit) -> None:
    """One candidate leads at a time, and another follows when the lease is released."""
    events: list[Any] = []
    name = kit.name
    async with entered(kit.client()) as client:

        def elector(identity: str | None = None, **more: Any) -> Any:
            return kit.public("LeaderElector")(
                client, name, namespace=kit.namespace, identity=identity, **more
            )

        first = elector(
            "one",
            on_started_leading=lambda: events.append("started"),
            on_stopped_leading=lambda error: events.append(error),
            on_new_leader=lambda leader: events.append(f"leader {leader}"),
        )
        equal((first.is_leader, first.leader, first.identity), (False, None, "one"))
        await raises(kubeconnect.LeadershipLost, lambda: first.check(), "check before")
        two = elector("two")
        async with entered(first):
            equal((first.is_leader, first.leader), (True, "one"))
            first.check()
            await until(lambda: len(events) == 2, "callbacks")
            equal(sorted(events), ["leader one", "started"])
            lease = kit.admin.get("leases", name, namespace=kit.namespace, consistency="latest")
            equal(
                (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]),
                ("one", 15),
            )
            began = time.monotonic()
            await raises(TimeoutError, lambda: two.acquire(timeout=0.5), "acquire")
            assert 0.5 <= time.monotonic() - began < SLACK_SECONDS
            equal((two.is_leader, two.leader), (False, "one"))
            await raises(TimeoutError, lambda: first.wait_lost(timeout=0.2), "wait_lost")
        equal((first.is_leader, events[2:]), (False, [None]), "on_stopped_leading after a release")
        await result_of(first.wait_lost())
        began = time.monotonic()
        async with entered(two):
            assert time.monotonic() - began < 8, "the lease was released"
            assert elector().identity != elector().identity
            # Another candidate takes the lease.
            kit.admin.patch(
                "leases",
                name,
                {"spec": {"holderIdentity": "thief"}},
                type="merge",
                namespace=kit.namespace,
            )
            await raises(kubeconnect.LeadershipLost, lambda: two.wait_lost(timeout=15), "wait_lost")
            equal((two.is_leader, two.leader), (False, "thief"))
            await raises(kubeconnect.LeadershipLost, lambda: two.check(), "check")
        lease = kit.admin.get("leases", name, namespace=kit.namespace, consistency="latest")
        equal(lease["spec"]["holderIdentity"], "thief", "a lost lease is not released")

        nowhere = kit.public("LeaderElector")(client, name, namespace="nowhere")
        await raises(kubeconnect.NotFound, lambda: nowhere.acquire(timeout=20), "no namespace")
        waiting = elector("three")
        if kit.is_async:
            acquiring = asyncio.ensure_future(waiting.acquire())
        else:
            acquiring = asyncio.ensure_future(asyncio.to_thread(waiting.acquire))
        await asyncio.sleep(0.3)
        await result_of(waiting.close())
        await raises(
            kubeconnect.Cancelled,
            lambda: asyncio.wait_for(acquiring, 10),
            "acquire of a closed elector",
        )
        await raises(ValueError, lambda: elector("x", lease_duration=1.0, renew_deadline=2.0))


async def check_fenced_writes(kit: Kit) -> None:
    """All writes of a call raise LeadershipLost when the leadership is lost, and change nothing."""
    if kit.is_async:
        return  # with asyncio the call is cancelled
    kit.create("a", {"x": "1"})
    inside = {"namespace": kit.namespace}
    name = kit.full("a")
    raised: dict[str, str] = {}
    before: list[Any] = []
    with kit.client() as client, kit.client() as other:
        elector = kit.public("LeaderElector")(client, kit.name, identity="me", **inside)
        controller = of_kit(kit, client, elector=elector)
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"x": "2"},
        }
        new = {"metadata": {"name": kit.full("new"), "labels": {"check": kit.name}}}
        writes: dict[str, Callable[[], Any]] = {
            "create": lambda: client.create("configmaps", new, **inside),
            "create typed": lambda: client.create(
                ConfigMap(metadata=ObjectMeta(name=kit.full("typed"))), **inside
            ),
            "update": lambda: client.update("configmaps", body, **inside),
            "patch": lambda: client.patch(
                "configmaps", name, {"data": {"x": "3"}}, type="merge", **inside
            ),
            "apply": lambda: client.apply(body, force=True, **inside),
            "apply_yaml": lambda: client.apply_yaml(json.dumps(body), force=True, **inside),
            "delete": lambda: client.delete("configmaps", name, **inside),
            "delete_collection": lambda: client.delete_collection("configmaps", **kit.selection()),
            "scale": lambda: client.scale("deployments", name, 1, **inside),
            "restart": lambda: client.restart("deployments", name, **inside),
            "evict": lambda: client.evict(name, **inside),
            "cordon": lambda: client.cordon("nothing"),
            "uncordon": lambda: client.uncordon("nothing"),
            "another client": lambda: other.patch(
                "configmaps", name, {"data": {"x": "4"}}, type="merge", **inside
            ),
        }

        @controller.reconcile  # type: ignore[untyped-decorator]
        def reconcile(key: Any) -> None:
            thief = {"spec": {"holderIdentity": "thief"}}
            kit.admin.get("leases", kit.name, consistency="latest", **inside)
            before.append(kit.cluster())
            other.patch("leases", kit.name, thief, type="merge", **inside)
            while elector.is_leader:
                time.sleep(0.01)
            for what, write in writes.items():
                try:
                    write()
                    raised[what] = "nothing"
                except Exception as error:
                    raised[what] = type(error).__name__
            client.get("configmaps", name, **inside)  # reads are allowed

        running = Running(kit, controller)
        await raises(kubeconnect.LeadershipLost, lambda: asyncio.wait_for(running.ended, 60))
    equal(raised, dict.fromkeys(writes, "LeadershipLost"))
    equal(kit.cluster(), before[0])


# Programs that run a controller.


def work(address: str, namespace: str, way: str, label: str, identity: str, lease: str) -> None:
    """Run a controller that writes its identity to the ConfigMaps, one second after each call."""
    say({"pid": identity})
    if way == "asyncio":
        asyncio.run(work_async(address, namespace, label, identity, lease))
        return
    with kubeconnect.Client(address) as client:
        elector = (
            kubeconnect.LeaderElector(
                client, lease, namespace=namespace, identity=identity, lease_duration=4
            )
            if lease
            else None
        )
        spec = WatchSpec("configmaps", namespace=namespace, label_selector=label)
        controller = kubeconnect.Controller(client, spec, elector=elector, stop_timeout=10)

        @controller.reconcile
        def reconcile(key: Any) -> None:
            each = controller.store().get(*key)
            if not each or each["data"].get("done") == each["data"]["want"]:
                return
            say({"begins": key.name, "by": identity})
            time.sleep(1)
            try:
                change = {"data": {"done": each["data"]["want"], "by": identity}}
                client.patch("configmaps", key.name, change, type="merge", namespace=key.namespace)
            except BaseException as error:
                say({"failed": type(error).__name__, "by": identity})
                raise
            say({"ends": key.name, "by": identity})

        try:
            controller.run()
        except Exception as error:
            say({"raised": type(error).__name__, "by": identity})
            raise SystemExit(3) from None
    say({"exits": identity})


async def work_async(address: str, namespace: str, label: str, identity: str, lease: str) -> None:
    """Do the same with asyncio."""
    async with kubeconnect.aio.AsyncClient(address) as client:
        elector = (
            kubeconnect.aio.AsyncLeaderElector(
                client, lease, namespace=namespace, identity=identity, lease_duration=4
            )
            if lease
            else None
        )
        spec = WatchSpec("configmaps", namespace=namespace, label_selector=label)
        controller = kubeconnect.aio.AsyncController(client, spec, elector=elector, stop_timeout=10)

        @controller.reconcile
        async def reconcile(key: Any) -> None:
            each = controller.store().get(*key)
            if not each or each["data"].get("done") == each["data"]["want"]:
                return
            say({"begins": key.name, "by": identity})
            await asyncio.sleep(1)
            try:
                change = {"data": {"done": each["data"]["want"], "by": identity}}
                await client.patch(
                    "configmaps", key.name, change, type="merge", namespace=key.namespace
                )
            except BaseException as error:
                say({"failed": type(error).__name__, "by": identity})
                raise
            say({"ends": key.name, "by": identity})

        try:
            await controller.run()
        except Exception as error:
            say({"raised": type(error).__name__, "by": identity})
            raise SystemExit(3) from None
    say({"exits": identity})


def say(fields: dict[str, Any]) -> None:
    """Print a line of JSON."""
    print(json.dumps(fields), flush=True)


class Worker:
    """A program that runs a controller."""

    def __init__(self, kit: Kit, identity: str, lease: str = "") -> None:
        """Start it."""
        command = [
            sys.executable,
            sys.argv[0],
            "work",
            kit.address,
            kit.namespace,
            kit.way,
            kit.label,
        ]
        self.process = subprocess.Popen(
            [*command, identity, lease],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def has(self, key: str) -> list[Any]:
        """Return the values of a key in the lines."""
        return [line[key] for line in self.lines if key in line]

    async def ends(self) -> int:
        """Return the exit code."""
        await until(lambda: self.process.poll() is not None, "the exit", 40)
        await asyncio.sleep(0.3)
        return self.process.returncode


def done(kit: Kit) -> dict[str, tuple[str | None, str | None]]:
    """Return which work is done, by which program."""
    found = kit.admin.list("configmaps", **kit.selection(), consistency="latest")
    return {
        each.name.removeprefix(kit.name + "-"): (each["data"].get("done"), each["data"].get("by"))
        for each in found
    }


async def check_signals(kit: Kit) -> None:
    """SIGTERM and SIGINT let the call that runs end, and no further call begins."""
    for number in (signal.SIGTERM, signal.SIGINT):
        for i in range(3):
            with contextlib.suppress(kubeconnect.NotFound):
                kit.delete(f"c{i}")
            kit.create(f"c{i}", {"want": "1"})
        worker = Worker(kit, number.name)
        try:
            await until(lambda w=worker: w.has("begins"), "a call", 30)
            worker.process.send_signal(number)
            equal(await worker.ends(), 0, number.name)
            equal((len(worker.has("begins")), len(worker.has("ends"))), (1, 1), "calls")
            equal(worker.has("exits"), [number.name])
        finally:
            worker.process.kill()


async def check_killed_leader(kit: Kit) -> None:
    """Another replica continues when the leader was killed."""
    kit.create("a", {"want": "1"})
    lease = kit.name
    first = Worker(kit, "first", lease)
    second = None
    try:
        await until(lambda: done(kit)["a"] == ("1", "first"), "the first works")
        second = Worker(kit, "second", lease)
        await asyncio.sleep(3)
        kit.change("a", data={"want": "2"})
        await until(lambda: done(kit)["a"] == ("2", "first"), "the first works alone")
        equal(second.has("begins"), [])
        first.process.send_signal(signal.SIGKILL)
        kit.change("a", data={"want": "3"})
        await until(lambda: done(kit)["a"] == ("3", "second"), "the second continues", 30)
        second.process.terminate()
        equal(await second.ends(), 0)
        found = kit.admin.get("leases", lease, namespace=kit.namespace, consistency="latest")
        equal(found["spec"].get("holderIdentity") or "", "", "the lease is released")
    finally:
        first.process.kill()
        if second:
            second.process.kill()


async def check_frozen_leader(kit: Kit) -> None:
    """The write of a leader that was frozen for longer than its lease raises LeadershipLost."""
    kit.create("a", {"want": "1"})
    lease = kit.name
    first = Worker(kit, "first", lease)
    second = None
    try:
        await until(lambda: first.has("begins"), "a call")
        first.process.send_signal(signal.SIGSTOP)
        second = Worker(kit, "second", lease)
        await until(lambda: done(kit)["a"] == ("1", "second"), "the second continues", 40)
        before = kit.cluster()
        first.process.send_signal(signal.SIGCONT)
        equal(await first.ends(), 3)
        equal((first.has("failed"), first.has("raised")), (["LeadershipLost"], ["LeadershipLost"]))
        equal((first.has("ends"), kit.cluster() == before), ([], True))
    finally:
        first.process.kill()
        if second:
            second.process.kill()


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(*sys.argv[2:])
    else:
        main(globals())
