"""Checks of Store and Stores against what the documentation says. See check_kit.py."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pathlib
import random
import stat
import tempfile
import threading
import time
from typing import Any

from check_kit import (
    SLACK_SECONDS,
    Kit,
    Proxy,
    Recorder,
    content_of,
    entered,
    equal,
    main,
    raises,
    result_of,
    until,
)

import kubeconnect
from kubeconnect import WatchSpec
from kubeconnect.k8s.core.v1 import ConfigMap


class Logged(logging.Handler):
    """Collects the messages of the logger kubeconnect."""

    def __init__(self) -> None:
        """Collect from now on."""
        super().__init__(logging.INFO)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.messages.append(f"{record.levelname} {record.getMessage()}")


LOGGED = Logged()
logging.getLogger("kubeconnect").addHandler(LOGGED)


async def equals_cluster(kit: Kit, store: Any, selector: str | None = None) -> None:
    """Wait until a store is in sync and equal to the cluster: the service may be a bit older."""
    await result_of(store.wait_synced())
    cluster = kit.cluster(selector)
    with contextlib.suppress(AssertionError):
        await until(lambda: content_of(store) == cluster, "the cluster", 15)
    equal(content_of(store), cluster, "the store")


async def check_reads(kit: Kit) -> None:
    """Reads return what the store has, as copies, and an iteration is over one state."""
    for i in range(5):
        kit.create(f"c{i}", {"i": str(i)})
    async with entered(kit.client()) as client:
        store = client.store("configmaps", **kit.selection())
        equal((store.synced, store.stale, store.error), (False, True, None), "before")
        for read in (lambda: len(store), lambda: list(store), lambda: store.get(None, "c0")):
            await raises(RuntimeError, read, "before")
        async with entered(store):
            await result_of(store.wait_synced(timeout=30))
            await equals_cluster(kit, store)
            equal(len(store), 5)
            equal(len(store.list()), 5)
            equal(len(store.list(kit.namespace)), 5)
            equal(list(store.list("nowhere")), [])
            found = store.get(kit.namespace, kit.full("c1"))
            equal(found["data"], {"i": "1"})
            equal(store.get(None, kit.full("c1")), None)
            equal(store.get("nowhere", kit.full("c1")), None)
            equal(store.get(kit.namespace, "nothing"), None)
            equal(
                (store.synced, store.stale, store.closed, store.error), (True, False, False, None)
            )
            equal((store.freshness.stale, store.connection.connected), (False, True))
            equal((store.namespaces, store.warnings, store.handler_errors), ((), (), 0))
            equal(store.resource.plural, "configmaps")
            newest = max(int(version) for _, version in kit.cluster().values())
            assert int(store.resource_version) >= newest, (store.resource_version, newest)

            found.to_dict()["data"]["i"] = "changed"
            equal(
                store.get(kit.namespace, kit.full("c1"))["data"], {"i": "1"}, "a copy was changed"
            )

            iteration, listed = iter(store), store.list()
            first = next(iteration)
            for i in range(5):
                kit.delete(f"c{i}")
            kit.create("later")
            await until(lambda: len(store) == 1, "the deletions")
            rest = [first, *iteration]
            equal(sorted(each["data"]["i"] for each in rest), list("01234"), "iteration")
            equal(sorted(each["data"]["i"] for each in listed), list("01234"), "list")
            await until(
                lambda: int(store.resource_version) >= int(kit.cluster()[kit.full("later")][1]),
                "the version",
            )
        equal((store.closed, store.stale, len(store)), (True, True, 1), "closed")


async def check_cluster_scoped(kit: Kit) -> None:
    """Objects without a namespace are read with None."""
    async with (
        entered(kit.client()) as client,
        entered(client.store("namespaces", name=kit.namespace)) as store,
    ):
        await result_of(store.wait_synced())
        equal(len(store), 1)
        equal(store.get(None, kit.namespace).namespace, None)
        equal(store.get(kit.namespace, kit.namespace), None)
        equal(len(store.list()), 1)
        equal(len(store.list(kit.namespace)), 0)


async def check_indexes(kit: Kit) -> None:
    """Indexes by paths and functions follow the objects."""
    kit.create("a", {"color": "red", "size": "1"}, **{"example.com/team": "x"})
    kit.create("b", {"color": "red"})
    kit.create("c", {"color": "blue", "bad": "yes"})
    kit.change("a", metadata={"finalizers": ["x.io/1", "x.io/2"]})

    def fails(obj: Any) -> str:
        if "bad" in obj["data"]:
            raise ValueError("bad")
        return "good"

    indexes = {
        "color": "data.color",
        "size": "data.size",
        "team": "metadata.labels['example.com/team']",
        "keys": lambda obj: list(obj["data"]),
        "tuple": lambda obj: (key for key in obj["data"]),
        "none": lambda obj: None,
        "fails": fails,
        "finalizers": "metadata.finalizers[*]",
        "text": lambda obj: obj["data"]["color"],
        "owner": lambda obj: obj.labels.get("example.com/team"),
    }
    async with (
        entered(kit.client()) as client,
        entered(client.store("configmaps", **kit.selection(indexes=indexes))) as store,
    ):
        await equals_cluster(kit, store)

        def names(index: str, value: Any) -> list[str]:
            return sorted(
                each.name.removeprefix(kit.name + "-") for each in store.by_index(index, value)
            )

        equal(names("color", "red"), ["a", "b"])
        equal(names("color", "blue"), ["c"])
        equal(names("color", "nothing"), [])
        equal(names("size", "1"), ["a"])
        equal(names("size", None), [], "objects without the field")
        equal(names("team", "x"), ["a"])
        equal(names("keys", "color"), ["a", "b", "c"])
        equal(names("keys", "size"), ["a"])
        equal(names("tuple", "size"), ["a"], "a generator")
        equal((names("none", None), store.index_values("none")), ([], ()))
        equal(names("owner", "x"), ["a"])
        equal(names("owner", None), [], "None is no value")
        equal(names("text", "red"), ["a", "b"])
        equal(names("text", "r"), [], "a string is one value")
        equal((names("finalizers", "x.io/1"), names("finalizers", "x.io/2")), (["a"], ["a"]))
        equal(names("fails", "good"), ["a", "b"])
        equal(store.index_errors, 1, "index errors")
        equal(sorted(store.index_values("color")), ["blue", "red"])
        await raises(KeyError, lambda: store.by_index("nothing", 1))
        await raises(KeyError, lambda: store.index_values("nothing"))

        kit.change("a", data={"color": "blue", "size": None})
        kit.delete("c")
        kit.create("d", {"color": "green"})
        await until(lambda: names("color", "green"), "the addition")
        equal(
            (names("color", "red"), names("color", "blue"), names("size", "1")),
            (["b"], ["a"], []),
        )
        equal(sorted(store.index_values("color")), ["blue", "green", "red"])
        equal(store.index_values("size"), ())
        equal(names("keys", "size"), [])


async def check_invalid_indexes(kit: Kit) -> None:
    """Invalid paths and selections are errors of the caller."""
    async with entered(kit.client()) as client:
        await raises(ValueError, lambda: client.store("configmaps", indexes={"x": "a[["}), "path")
        store = client.store("configmaps", namespace=kit.namespace, filter="object.")
        async with entered(store):
            await raises(kubeconnect.InvalidArgument, lambda: store.wait_synced(), "filter")
        store = client.store("configmaps", namespace=kit.namespace, label_selector="a==b==c")
        async with entered(store):
            await raises(kubeconnect.InvalidArgument, lambda: store.wait_synced(), "selector")


async def check_handlers(kit: Kit) -> None:
    """Handlers are called once for each change."""
    a, b = kit.create("a", {"i": "0"}), kit.create("b")
    async with (
        entered(kit.client()) as client,
        entered(client.store("configmaps", **kit.selection())) as store,
    ):
        early = Recorder()
        store.subscribe(**early.arguments())
        await equals_cluster(kit, store)
        recorder = Recorder()
        handlers = store.subscribe(**recorder.arguments())
        await until(lambda: len(recorder.calls) == 2, "additions")
        changed = kit.change("a", data={"i": "1"})
        await until(lambda: len(recorder.calls) == 3, "update")
        equal(
            recorder.calls[2],
            ("update", a.name, a.uid, a.resource_version, changed.resource_version),
        )
        kit.change("a", data={"i": "1"})  # changes nothing
        kit.delete("b")
        await until(lambda: len(recorder.calls) == 4, "deletion")
        equal(recorder.calls[3], ("delete", b.name, b.uid, b.resource_version))
        kit.delete("a")
        again = kit.create("a")
        await until(lambda: len(recorder.calls) == 6, "a new object")
        equal(recorder.calls[4], ("delete", a.name, a.uid, changed.resource_version))
        equal(recorder.calls[5], ("add", a.name, again.uid, again.resource_version))
        await until(lambda: handlers.pending == 0, "pending")
        await until(lambda: len(early.calls) == 6, "early")
        equal(early.kinds(), recorder.kinds())
        equal(
            (recorder.faults, early.faults, handlers.errors, handlers.last_error),
            ([], [], 0, None),
        )

        only = []
        store.subscribe(on_delete=lambda old: only.append(old.uid))
        kit.delete("a")
        await until(lambda: only, "on_delete alone")
        equal(only, [again.uid])


async def check_slow_handlers(kit: Kit) -> None:
    """A handler that is behind receives the latest state, and nothing of objects in between."""
    old = {name: kit.create(name, {"i": "0"}) for name in "abcd"}
    released = threading.Event()
    recorder, quick = Recorder(), Recorder()
    async with (
        entered(kit.client()) as client,
        entered(client.store("configmaps", **kit.selection())) as store,
    ):
        await equals_cluster(kit, store)

        def on_update(old: Any, new: Any) -> None:
            recorder.on_update(old, new)
            released.wait()

        async def on_update_async(old: Any, new: Any) -> None:
            recorder.on_update(old, new)
            while not released.is_set():
                await asyncio.sleep(0.01)

        handlers = store.subscribe(
            recorder.on_add, on_update_async if kit.is_async else on_update, recorder.on_delete
        )
        store.subscribe(**quick.arguments())
        await until(lambda: len(recorder.calls) == 4 and len(quick.calls) == 4, "additions")
        kit.change("a", data={"i": "1"})
        await until(lambda: len(recorder.calls) == 5, "the blocked call")
        for i in range(2, 6):
            kit.change("b", data={"i": str(i)})
            kit.change("a", data={"i": str(i)})
        kit.delete("c")
        new_c = kit.create("c", {"i": "new"})
        kit.delete("d")
        kit.create("gone")
        kit.delete("gone")
        kit.create("last")
        await until(lambda: quick.known == kit.cluster(), "quick handlers")
        equal(content_of(store), kit.cluster(), "store")
        equal(len(recorder.calls), 5, "calls while blocked")
        assert 0 < handlers.pending <= 6, handlers.pending
        released.set()
        await until(lambda: recorder.known == kit.cluster(), "slow handlers")
        await until(lambda: handlers.pending == 0, "pending")
        later = [(call[0], call[1].removeprefix(kit.name + "-")) for call in recorder.calls[5:]]
        equal(
            later,
            [
                ("update", "b"),
                ("update", "a"),
                ("delete", "c"),
                ("add", "c"),
                ("delete", "d"),
                ("add", "last"),
            ],
            "calls",
        )
        equal([call[2] for call in recorder.calls[7:9]], [old["c"].uid, new_c.uid])
        equal((recorder.faults, quick.faults), ([], []))


async def check_failing_handlers(kit: Kit) -> None:
    """The exception of a handler is counted, the state counts as received."""
    a = kit.create("a", {"i": "0"})
    recorder = Recorder()
    async with entered(kit.client()) as client:
        async with entered(client.store("configmaps", **kit.selection())) as store:
            await result_of(store.wait_synced())

            def fails(*objects: Any) -> None:
                (recorder.on_update if len(objects) == 2 else recorder.on_add)(*objects)
                raise RuntimeError(f"call {len(recorder.calls)}")

            async def fails_async(*objects: Any) -> None:
                fails(*objects)

            handler = fails_async if kit.is_async else fails
            handlers = store.subscribe(handler, handler, recorder.on_delete)
            await until(lambda: handlers.errors == 1, "the first error")
            changed = kit.change("a", data={"i": "1"})
            await until(lambda: handlers.errors == 2, "the second error")
            equal(str(handlers.last_error), "call 2")
            kit.delete("a")
            await until(lambda: len(recorder.calls) == 3, "the deletion")
            equal(
                recorder.calls[1],
                ("update", a.name, a.uid, a.resource_version, changed.resource_version),
            )
            equal(recorder.faults, [])
            equal((store.handler_errors, handlers.errors, store.error), (2, 2, None))
            await result_of(handlers.close())
            equal(store.handler_errors, 2, "after the subscription was closed")
        assert any(kit.full("a") in line or "handler" in line for line in LOGGED.messages), (
            LOGGED.messages
        )


async def check_selectors(kit: Kit) -> None:
    """An object that enters or leaves a selection is an addition or a deletion."""
    kit.create("a", {"i": "1"}, tier="front")
    kit.create("b", {"i": "5"}, tier="back")
    kit.create("n", None, tier="back")
    selections: dict[str, dict[str, Any]] = {
        "label": {"label_selector": f"{kit.label},tier=front"},
        "filter": {"label_selector": kit.label, "filter": "object.data.i > '3'"},
        "field": {"field_selector": f"metadata.name={kit.full('a')}"},
        "name": {"name": kit.full("a")},
        "fields": {"label_selector": kit.label, "fields": ["data.i"]},
        "metadata": {"label_selector": kit.label, "metadata_only": True},
        "patches": {"label_selector": f"{kit.label},tier=front", "patches": True},
    }
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(entered(kit.client()))
        stores, recorders = {}, {}
        for key, selection in selections.items():
            store = client.store("configmaps", namespace=kit.namespace, **selection)
            stores[key] = await stack.enter_async_context(entered(store))
            await result_of(store.wait_synced())
            recorders[key] = Recorder()
            store.subscribe(**recorders[key].arguments())

        def names(key: str) -> list[str]:
            return sorted(name.removeprefix(kit.name + "-") for name in content_of(stores[key]))

        async def have(**want: list[str]) -> None:
            for key, each in want.items():
                with contextlib.suppress(AssertionError):
                    await until(lambda k=key, w=each: names(k) == w, key, 15)
                equal(names(key), each, key)
                await until(
                    lambda k=key: recorders[k].known.keys() == content_of(stores[k]).keys(), key, 15
                )

        everything = ["a", "b", "n"]
        await have(
            label=["a"],
            filter=["b"],
            field=["a"],
            name=["a"],
            fields=everything,
            metadata=everything,
        )
        kit.change("a", data={"i": "7"})
        await have(label=["a"], filter=["a", "b"], field=["a"], name=["a"], patches=["a"])
        kit.change("a", metadata={"labels": {"tier": "back"}})
        await have(label=[], filter=["a", "b"], field=["a"], name=["a"], patches=[])
        kit.change("b", data={"i": "2"}, metadata={"labels": {"tier": "front"}})
        kit.change("a", metadata={"labels": {"tier": "front"}})
        await have(label=["a", "b"], filter=["a"], patches=["a", "b"])
        kit.change("a", metadata={"labels": {"check": None}})
        await have(
            label=["b"],
            filter=[],
            field=["a"],
            name=["a"],
            fields=["b", "n"],
            metadata=["b", "n"],
            patches=["b"],
        )
        equal(
            recorders["label"].kinds(), ["add", "update", "delete", "add", "add", "delete"], "label"
        )
        kit.admin.delete("configmaps", kit.full("a"), namespace=kit.namespace)
        await have(field=[], name=[])
        equal({key: each.faults for key, each in recorders.items() if each.faults}, {})
        # A change that does not touch the fields produces no update.
        equal(recorders["fields"].kinds(), ["add"] * 3 + ["update", "update", "delete"], "fields")
        equal(recorders["metadata"].kinds()[:3], ["add"] * 3)
        (b,) = stores["label"]
        equal(b["data"], {"i": "2"})
        equal(stores["metadata"].get(kit.namespace, kit.full("b")).get("data"), None)
        equal(stores["fields"].get(kit.namespace, kit.full("b"))["data"], {"i": "2"})
        assert stores["filter"].warnings, "warnings of a filter without a value"


async def check_dump_and_restore(kit: Kit) -> None:
    """A restored store has the objects at once, and handlers are called for what has changed."""
    for name in "abcde":
        kit.create(name, {"i": "0"})
    folder = pathlib.Path(tempfile.mkdtemp())
    file = folder / "store"
    indexes = {"i": "data.i"}
    async with entered(kit.client()) as client:
        missing = client.store("configmaps", **kit.selection(restore=file))
        async with entered(missing) as store:
            await equals_cluster(kit, store)
            await result_of(store.dump(file))
            dumped = store.dumps()
        before = content_of(missing)
        equal(stat.S_IMODE(file.stat().st_mode), 0o600, "mode")
        equal(missing.dumps() == dumped, True, "a closed store is dumped as before")

        kit.change("a", data={"i": "1"})
        kit.delete("b")
        kit.create("new")
        kit.delete("c")
        kit.create("c", {"i": "again"})
        kit.create("brief")
        kit.delete("brief")

        for source in (file, str(file), dumped):
            restored = client.store("configmaps", **kit.selection(restore=source, indexes=indexes))
            equal(content_of(restored), before, "restored at once")
            equal(len(restored.by_index("i", "0")), 5, "index of the restored")
            equal((restored.synced, restored.stale), (False, True), "restored")
            recorder = Recorder()
            restored.subscribe(**recorder.arguments())
            await until(lambda r=recorder: r.known == before, "additions of the restored")
            async with entered(restored):
                await equals_cluster(kit, restored)
                await until(lambda r=recorder: r.known == kit.cluster(), "handlers")
                equal(recorder.faults, [])
                calls = [(c[0], c[1].removeprefix(kit.name + "-")) for c in recorder.calls[5:]]
                equal(
                    sorted(calls),
                    [
                        ("add", "c"),
                        ("add", "new"),
                        ("delete", "b"),
                        ("delete", "c"),
                        ("update", "a"),
                    ],
                    "calls",
                )
                equal(
                    len(restored.by_index("i", "0")),
                    2,
                )
                assert all(each["metadata"]["name"] for each in restored)
                equal({each.resource.plural for each in restored}, {"configmaps"}, "resource")


async def check_restore_of_other_dumps(kit: Kit) -> None:
    """A dump that cannot be used is reported, and the store begins with a snapshot."""
    kit.create("a", None, tier="front")
    kit.create("b", None, tier="back")
    async with entered(kit.client()) as client:
        async with entered(client.store("configmaps", **kit.selection())) as store:
            await equals_cluster(kit, store)
            dump = store.dumps()
        damaged = dump[: len(dump) // 2]
        flipped = bytearray(dump)
        flipped[len(dump) // 2] ^= 0xFF
        cases: dict[str, tuple[bytes, dict[str, Any]]] = {
            "damaged": (damaged, {}),
            "flipped": (bytes(flipped), {}),
            "empty": (b"", {}),
            "text": (b"hello", {}),
            "selector": (dump, {"label_selector": f"{kit.label},tier=front"}),
            "fields": (dump, {"fields": ["data.i"]}),
            "filter": (dump, {"filter": "true"}),
            "metadata": (dump, {"metadata_only": True}),
        }
        for name, (data, change) in cases.items():
            seen = len(LOGGED.messages)
            other = client.store("configmaps", **kit.selection(restore=data, **change))
            equal(len(other), 0, f"objects of a dump that is {name}")
            async with entered(other):
                await equals_cluster(kit, other, change.get("label_selector"))
            assert any(
                line.startswith("WARNING") and "dump" in line for line in LOGGED.messages[seen:]
            ), (
                name,
                LOGGED.messages[seen:],
            )
        typed = client.store(ConfigMap, **kit.selection(restore=dump))
        equal(len(typed), 0, "objects of a dump of Objects in a typed store")


async def check_closing(kit: Kit) -> None:
    """A store can be closed in each state, and keeps its objects."""
    kit.create("a")
    async with entered(kit.client()) as client:
        never = client.store("configmaps", **kit.selection())
        await result_of(never.close())
        await result_of(never.close())
        equal((never.closed, never.stale, never.error), (True, True, None))
        await raises(RuntimeError, lambda: len(never), "never started")
        await raises(kubeconnect.Cancelled, lambda: never.wait_synced(), "wait_synced")
        await raises(kubeconnect.Cancelled, lambda: never.subscribe(), "subscribe")
        await result_of(never.wait_closed(timeout=5))

        store = client.store("configmaps", **kit.selection())
        store.start()
        store.start()
        await result_of(store.close())  # while it begins
        await raises(kubeconnect.Cancelled, lambda: store.subscribe(), "subscribe")

        store = client.store("configmaps", **kit.selection())
        async with entered(store):
            await result_of(store.wait_synced())
            await raises(
                kubeconnect.DeadlineExceeded, lambda: store.wait_closed(timeout=0.2), "wait_closed"
            )
            recorder = Recorder()
            handlers = store.subscribe(**recorder.arguments())
            await until(lambda: recorder.calls, "a call")
            await result_of(handlers.close())
            await result_of(handlers.close())
            kit.change("a", data={"x": "y"})
            second = Recorder()
            async with entered(store.subscribe(**second.arguments())):
                await until(lambda: second.known == kit.cluster(), "the change")
            equal(len(recorder.calls), 1, "calls after close")
            kit.change("a", data={"x": "z"})
            await until(lambda: content_of(store) == kit.cluster(), "the change")
            calls = len(second.calls)
            await result_of(store.close())
            equal(len(second.calls), calls)
        equal((store.closed, store.stale, store.error, len(store)), (True, True, None, 1))
        equal(store.connection.connected, False, "connected")
        equal(store.freshness.stale, True, "freshness")
        equal(store.synced, True)
        await result_of(store.wait_closed())
        await raises(
            kubeconnect.Cancelled, lambda: store.wait_synced(), "wait_synced of a closed store"
        )


async def check_closing_by_handlers(kit: Kit) -> None:
    """A handler may close its subscription, its store and its client."""
    kit.create("a")
    kit.create("b")
    for what in ("subscription", "store", "client"):
        await _close_by_handler(kit, what)


async def _close_by_handler(kit: Kit, what: str) -> None:
    calls: list[str] = []
    client = kit.client()
    closable: dict[str, Any] = {"client": client}
    closable["store"] = store = client.store("configmaps", **kit.selection())
    subscribed = threading.Event()

    async def on_add_async(new: Any) -> None:
        calls.append(new.name)
        await until(subscribed.is_set, "the subscription")
        await closable[what].close()

    def on_add(new: Any) -> None:
        calls.append(new.name)
        subscribed.wait()
        closable[what].close()

    async with entered(client):
        async with entered(store):
            await result_of(store.wait_synced())
            began = time.monotonic()
            on_add_of_way: Any = on_add_async if kit.is_async else on_add
            closable["subscription"] = store.subscribe(on_add=on_add_of_way)
            subscribed.set()
            await until(lambda: calls, "the call")
            if what == "subscription":
                kit.change("a", data={what: "x"})
                await until(lambda: content_of(store) == kit.cluster(), "the change")
            else:
                with contextlib.suppress(kubeconnect.Cancelled):
                    await result_of(store.wait_closed(timeout=10))
                await until(lambda: store.closed, "closed")
            assert time.monotonic() - began < 4, f"closing the {what} blocks"
        equal(len(calls), 1, f"calls after a handler has closed the {what}")


async def check_use_by_handlers(kit: Kit) -> None:
    """A handler may read, dump, and subscribe to its store."""
    kit.create("a")
    found: list[Any] = []
    async with (
        entered(kit.client()) as client,
        entered(client.store("configmaps", **kit.selection())) as store,
    ):
        await equals_cluster(kit, store)
        nested = Recorder()

        def use(new: Any) -> None:
            subscription = store.subscribe(**nested.arguments())
            found.append(
                (store.get(kit.namespace, new.name).uid, len(store), len(store.dumps()) > 0)
            )
            found.append(subscription)

        async def use_async(new: Any) -> None:
            use(new)
            await store.wait_synced()

        def use_by_threads(new: Any) -> None:
            use(new)
            store.wait_synced()

        before = Recorder()
        late = client.store("configmaps", **kit.selection())
        late.subscribe(**before.arguments())  # before the store is started
        equal(before.calls, [])
        async with entered(late):
            await until(lambda: before.known == kit.cluster(), "a subscription before the start")
        handlers = store.subscribe(on_add=use_async if kit.is_async else use_by_threads)
        await until(lambda: len(found) == 2, "the handler")
        await until(lambda: nested.known == kit.cluster(), "the nested handlers")
        kit.change("a", data={"x": "y"})
        await until(lambda: nested.known == kit.cluster(), "a change")
        equal((handlers.errors, nested.faults, nested.kinds()), (0, [], ["add", "update"]))
        read = await result_of(
            client.list("configmaps", **kit.selection(min_resource_version=store.resource_version))
        )
        equal(content_of(await result_of(read.all())), kit.cluster(), "a read at this version")
    many = {str(number): "configmaps" for number in range(101)}
    async with entered(kit.client()) as client:
        try:
            stores = client.stores(many)
            async with entered(stores):
                await result_of(stores.wait_synced())
        except (ValueError, kubeconnect.InvalidArgument):
            return
        raise AssertionError("more than 100 stores")


async def check_client_close(kit: Kit) -> None:
    """Closing the client closes the stores; later calls raise Cancelled."""
    kit.create("a")
    client = kit.client()
    store = client.store("configmaps", **kit.selection())
    never = client.store("configmaps", **kit.selection())
    store.start()
    await result_of(store.wait_synced())
    recorder = Recorder()
    store.subscribe(**recorder.arguments())
    await until(lambda: recorder.calls, "a call")
    await result_of(client.close())
    await result_of(client.close())
    equal((store.closed, store.stale, len(store)), (True, True, 1))
    with contextlib.suppress(kubeconnect.Cancelled):
        await result_of(store.wait_closed(timeout=5))
    await raises(kubeconnect.Cancelled, lambda: store.subscribe(), "subscribe")
    await raises(kubeconnect.Cancelled, lambda: store.wait_synced(), "wait_synced")
    with contextlib.suppress(kubeconnect.Cancelled):
        never.start()
    await raises(kubeconnect.Cancelled, lambda: never.wait_synced(), "a store of a closed client")


async def check_rejected(kit: Kit) -> None:
    """A store ends if its watch is rejected."""
    async with entered(kit.client()) as client:
        errors: list[Exception] = []
        seen = len(LOGGED.messages)
        store = client.store("nosuchthings", namespace=kit.namespace, on_error=errors.append)
        async with entered(store):
            raised = await raises(kubeconnect.NotFound, lambda: store.wait_synced(), "wait_synced")
            await raises(kubeconnect.NotFound, lambda: store.wait_closed(), "wait_closed")
            await raises(kubeconnect.NotFound, lambda: store.subscribe(), "subscribe")
            equal(
                (type(store.error), store.closed, store.stale), (kubeconnect.NotFound, True, True)
            )
            await until(lambda: errors, "on_error")
            equal([str(each) for each in errors], [str(raised)])
        assert LOGGED.messages[seen:], "the logger"

        stores = client.stores(
            {"good": WatchSpec("configmaps", **kit.selection()), "bad": "nosuchthings"}
        )
        async with entered(stores):
            await raises(kubeconnect.NotFound, lambda: stores.wait_synced(), "stores")
            equal((stores["good"].closed, stores["bad"].closed, stores.closed), (True, True, True))
            equal(type(stores["good"].error), kubeconnect.NotFound)
    async with (
        entered(kit.client("http://127.0.0.1:9")) as client,
        entered(client.store("pods")) as store,
    ):
        await raises(kubeconnect.Unavailable, lambda: store.wait_synced(), "unreachable")


async def check_timeouts(kit: Kit) -> None:
    """Timeouts are kept to."""
    proxy = Proxy(kit.address)
    proxy.freeze()
    async with entered(kit.client(proxy.address, timeout=1)) as client:
        async with entered(client.store("configmaps", **kit.selection())) as store:
            for timeout, want in ((0.3, 0.3), (None, 1.0)):
                began = time.monotonic()
                arguments = {} if timeout is None else {"timeout": timeout}
                await raises(
                    kubeconnect.DeadlineExceeded, lambda a=arguments: store.wait_synced(**a)
                )
                took = time.monotonic() - began
                assert want - 0.05 <= took < SLACK_SECONDS, (timeout, took)
            equal((store.closed, store.synced), (False, False), "after a timeout")
            proxy.mend()
            await result_of(store.wait_synced(timeout=30))
            began = time.monotonic()
        assert time.monotonic() - began < SLACK_SECONDS, "the exit"


async def check_lost_stream(kit: Kit) -> None:
    """After a lost stream the store has what the cluster has, and handlers what differs."""
    for name in "abcd":
        kit.create(name, {"i": "0"})
    proxy = Proxy(kit.address)
    retries: list[Any] = []
    async with entered(kit.client(proxy.address)) as client:
        store = client.store(
            "configmaps", **kit.selection(on_retry=lambda *arguments: retries.append(arguments))
        )
        async with entered(store):
            await equals_cluster(kit, store)
            recorder = Recorder()
            store.subscribe(**recorder.arguments())
            await until(lambda: len(recorder.calls) == 4, "additions")
            since = store.connection.since
            proxy.cut()
            await until(lambda: not store.connection.connected, "disconnected")
            await until(lambda: store.stale and store.freshness.stale, "stale")
            equal((store.closed, store.error, len(store)), (False, None, 4))
            kit.change("a", data={"i": "1"})
            kit.delete("b")
            kit.delete("c")
            kit.create("c")
            kit.create("new")
            kit.create("brief")
            kit.delete("brief")
            await until(lambda: retries, "on_retry")
            assert isinstance(retries[0][0], kubeconnect.KubeconnectError), retries
            proxy.mend()
            await until(lambda: content_of(store) == kit.cluster(), "the store")
            await until(lambda: recorder.known == kit.cluster(), "handlers")
            await until(lambda: not store.stale and store.connection.connected, "fresh")
            assert store.connection.since > since
            equal(recorder.faults, [])
            calls = [(c[0], c[1].removeprefix(kit.name + "-")) for c in recorder.calls[4:]]
            equal(
                sorted(calls),
                [("add", "c"), ("add", "new"), ("delete", "b"), ("delete", "c"), ("update", "a")],
            )


async def check_frozen_stream(kit: Kit) -> None:
    """A silent stream counts as lost after 12 seconds."""
    kit.create("a")
    proxy = Proxy(kit.address)
    async with (
        entered(kit.client(proxy.address)) as client,
        entered(client.store("configmaps", **kit.selection())) as store,
    ):
        await result_of(store.wait_synced())
        proxy.freeze()
        kit.create("b")
        await until(lambda: store.stale and not store.connection.connected, "stale", 20)
        equal(len(store), 1)
        proxy.mend()
        await until(lambda: content_of(store) == kit.cluster(), "the change", 20)
        await until(lambda: not store.stale, "fresh", 30)


async def check_threads(kit: Kit) -> None:
    """Threads read and subscribe while the store changes."""
    if kit.is_async:
        return
    for i in range(20):
        kit.create(f"c{i}", {"i": "0"})
    with (
        kit.client() as client,
        client.store("configmaps", **kit.selection(indexes={"i": "data.i"})) as store,
    ):
        await equals_cluster(kit, store)
        faults: list[str] = []
        ended = threading.Event()

        def guarded(function: Any) -> None:
            try:
                function()
            except BaseException as error:
                faults.append(repr(error))

        def reads() -> None:
            store.wait_synced()
            while not ended.is_set():
                if len(list(store)) != 20 or len(store) != 20:
                    faults.append(f"{len(list(store))} objects")
                by_value = [len(store.by_index("i", value)) for value in store.index_values("i")]
                for each in store.list(kit.namespace):
                    if not each["data"]["i"]:
                        faults.append("no content")
                if not by_value:
                    faults.append("empty index")

        def subscribes() -> None:
            store.wait_synced()
            while not ended.is_set():
                recorder = Recorder()
                with store.subscribe(**recorder.arguments()):
                    while len(recorder.known) < 20 and not ended.is_set():
                        time.sleep(0.01)
                faults.extend(recorder.faults)

        threads = [
            threading.Thread(target=guarded, args=(each,))
            for each in [reads] * 3 + [subscribes] * 3
        ]
        for thread in threads:
            thread.start()
        for step in range(1, 4):
            for i in range(20):
                kit.change(f"c{i}", data={"i": str(step)})
        await until(lambda: len(store.by_index("i", "3")) == 20, "all changes")
        ended.set()
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
        waiter = threading.Thread(target=guarded, args=(store.wait_closed,))
        waiter.start()
        store.close()
        waiter.join(10)
        assert not waiter.is_alive()
        equal(faults, [])


async def check_many(kit: Kit) -> None:
    """Stores share one stream, and are synced, dumped and closed together."""
    kit.create("a", {"i": "1"})
    kit.create("b", {"i": "2"}, tier="x")
    specs: dict[str, Any] = {
        "all": WatchSpec("configmaps", **kit.selection()),
        "some": WatchSpec(
            "configmaps", namespace=kit.namespace, label_selector=f"{kit.label},tier=x"
        ),
        "typed": WatchSpec(ConfigMap, **kit.selection()),
        "namespaces": WatchSpec("namespaces", name=kit.namespace),
    }
    indexes = {"all": {"i": "data.i"}, "typed": {"i": "data.i", "f": lambda each: each.data["i"]}}
    async with entered(kit.client()) as client:
        stores = client.stores(specs, indexes=indexes)
        equal(
            (list(stores), len(stores), "some" in stores, stores.synced),
            (list(specs), 4, True, False),
        )
        async with entered(stores):
            await result_of(stores.wait_synced())
            equal((stores.synced, stores.stale), (True, False))
            await equals_cluster(kit, stores["all"])
            await until(lambda: len(stores["some"]) == 1, "some")
            await until(lambda: len(stores["typed"]) == 2, "typed")
            equal(list(content_of(stores["some"])), [kit.full("b")])
            equal(
                [each.metadata.name for each in stores["typed"].by_index("i", "2")], [kit.full("b")]
            )
            equal(
                [each.metadata.name for each in stores["typed"].by_index("f", "1")], [kit.full("a")]
            )
            await raises(KeyError, lambda: stores["some"].by_index("i", "1"))
            await raises(KeyError, lambda: stores["nothing"])
            message = stores["typed"].get(kit.namespace, kit.full("a"))
            message.data["i"] = "changed"
            equal(stores["typed"].get(kit.namespace, kit.full("a")).data["i"], "1")
            dump = stores.dumps()
        kit.change("a", data={"i": "5"}, metadata={"labels": {"tier": "x"}})
        kit.delete("b")
        equal((stores["all"].closed, stores["typed"].closed), (True, True))
        restored = client.stores(specs, indexes=indexes, restore=dump)
        equal([len(each) for each in restored.values()], [2, 1, 2, 1])
        recorder = Recorder()
        restored["some"].subscribe(**recorder.arguments())
        async with entered(restored):
            await result_of(restored.wait_synced())
            await equals_cluster(kit, restored["all"])
            await equals_cluster(kit, restored["some"])
            await until(lambda: len(restored["typed"]) == 1, "typed")
            equal(
                {
                    m.metadata.name: [m.metadata.uid, m.metadata.resourceVersion]
                    for m in restored["typed"]
                },
                kit.cluster(),
            )
            await until(lambda: recorder.known == kit.cluster(), "handlers")
            equal(recorder.faults, [])
            await result_of(restored["all"].close())
            await until(lambda: restored.closed and restored["some"].closed, "all closed")
        await raises(ValueError, lambda: client.stores(specs, indexes={"typo": {"i": "data.i"}}))


async def _stress(
    kit: Kit, proxy: Proxy, resource: Any, selection: dict[str, Any], **more: Any
) -> None:
    dice = random.Random(kit.name)
    steps = 500
    recorders = [Recorder() for _ in range(3)]
    typed = not isinstance(resource, str)

    def adapt(recorder: Recorder, slow: bool) -> dict[str, Any]:
        def view(each: Any) -> Any:
            return View(each) if typed else each

        def wrap(function: Any) -> Any:
            def handler(*objects: Any) -> None:
                function(*map(view, objects))
                if slow and not kit.is_async:
                    time.sleep(dice.random() / 50)

            async def handler_async(*objects: Any) -> None:
                handler(*objects)
                if slow:
                    await asyncio.sleep(dice.random() / 50)

            return handler_async if kit.is_async else handler

        return {key: wrap(each) for key, each in recorder.arguments().items()}

    def write() -> None:
        present: set[str] = set()
        for step in range(steps):
            name = f"s{dice.randrange(25)}"
            if name not in present:
                kit.create(name, {"step": str(step)}, tier=dice.choice("xy"))
                present.add(name)
            elif (action := dice.random()) < 0.25:
                kit.delete(name)
                present.discard(name)
                if action < 0.12:
                    kit.create(name, {"step": str(step)}, tier=dice.choice("xy"))
                    present.add(name)
            elif action < 0.5:
                kit.change(name, metadata={"labels": {"tier": dice.choice("xy")}})
            else:
                kit.change(name, data={"step": str(step)})
            if step % 60 == 59:
                proxy.close_all()
            if step == steps // 2:
                proxy.cut()
            if step == steps // 2 + 40:
                proxy.mend()

    def content(store: Any) -> dict[str, list[str]]:
        return content_of([View(each) for each in store] if typed else store)

    async with entered(kit.client(proxy.address)) as client:
        store = client.store(
            resource,
            namespace=kit.namespace,
            indexes={"tier": "metadata.labels.tier"},
            **selection,
            **more,
        )
        async with entered(store):
            await result_of(store.wait_synced())
            for number, recorder in enumerate(recorders[:2]):
                store.subscribe(**adapt(recorder, slow=number == 1))
            writer = asyncio.get_running_loop().run_in_executor(None, write)
            await asyncio.sleep(2)
            store.subscribe(**adapt(recorders[2], slow=True))
            await writer
            cluster = kit.cluster(selection.get("label_selector"))
            with contextlib.suppress(AssertionError):
                await until(lambda: content(store) == cluster, "the store", 30)
            equal(content(store), cluster, "store")
            for number, recorder in enumerate(recorders):
                with contextlib.suppress(AssertionError):
                    await until(lambda r=recorder: r.known == cluster, "handlers", 30)
                equal(recorder.known, cluster, f"handlers {number}")
                equal(recorder.faults, [], f"handlers {number}")
            indexed = {
                value: sorted(content(store.by_index("tier", value)))
                for value in store.index_values("tier")
            }
            want: dict[str, list[str]] = {}
            for each in store:
                labels = each.metadata.labels if typed else each.labels
                want.setdefault(labels["tier"], []).append(View(each).name if typed else each.name)
            equal(indexed, {key: sorted(names) for key, names in want.items()}, "index")
            equal(store.handler_errors, 0)


class View:
    """A message with the properties of an Object."""

    def __init__(self, message: Any) -> None:
        """Show a message."""
        self.name, self.uid = message.metadata.name, message.metadata.uid
        self.resource_version = message.metadata.resourceVersion


async def check_stress(kit: Kit) -> None:
    """Store and handlers equal the cluster after many changes and lost streams."""
    await _stress(kit, Proxy(kit.address), "configmaps", {"label_selector": kit.label})


async def check_stress_selector(kit: Kit) -> None:
    """The same, with objects that enter and leave."""
    await _stress(
        kit,
        Proxy(kit.address),
        "configmaps",
        {"label_selector": f"{kit.label},tier=x"},
        patches=True,
    )


async def check_stress_typed(kit: Kit) -> None:
    """The same with messages."""
    await _stress(kit, Proxy(kit.address), ConfigMap, {"label_selector": f"{kit.label},tier=x"})


async def check_stress_with_snapshots(kit: Kit) -> None:
    """The same, if each lost stream begins with a new snapshot."""
    proxy = Proxy(kit.address, kit.other)
    await _stress(kit, proxy, "configmaps", {"label_selector": kit.label}, patches=True)


async def check_stress_typed_with_snapshots(kit: Kit) -> None:
    """The same with messages that enter and leave."""
    proxy = Proxy(kit.address, kit.other)
    await _stress(kit, proxy, ConfigMap, {"label_selector": f"{kit.label},tier=x"})


async def check_snapshot_after_loss(kit: Kit) -> None:
    """A new snapshot replaces the objects at once, and handlers are called for what differs."""
    before = {name: kit.create(name, {"i": "0"}) for name in "abcd"}
    proxy = Proxy(kit.address, kit.other)
    async with (
        entered(kit.client(proxy.address)) as client,
        entered(client.store("configmaps", **kit.selection(indexes={"i": "data.i"}))) as store,
    ):
        await equals_cluster(kit, store)
        recorder, sizes = Recorder(), set()
        store.subscribe(**recorder.arguments())
        await until(lambda: len(recorder.calls) == 4, "additions")
        proxy.cut()
        await until(lambda: store.stale, "stale")
        kit.change("a", data={"i": "1"})
        kit.delete("b")
        kit.delete("c")
        after = kit.create("c")
        kit.create("new")
        proxy.mend()

        def caught_up() -> bool:
            sizes.add(len(store))
            return content_of(store) == kit.cluster()

        await until(caught_up, "the store")
        await until(lambda: recorder.known == kit.cluster(), "handlers")
        await until(lambda: not store.stale, "fresh")
        equal((sizes, recorder.faults), ({4}, []))
        calls = [
            (call[0], call[1].removeprefix(kit.name + "-"), call[2]) for call in recorder.calls[4:]
        ]
        equal(
            sorted(calls),
            sorted(
                [
                    ("update", "a", before["a"].uid),
                    ("delete", "b", before["b"].uid),
                    ("delete", "c", before["c"].uid),
                    ("add", "c", after.uid),
                    ("add", "new", store.get(kit.namespace, kit.full("new")).uid),
                ]
            ),
        )
        equal(sorted(store.index_values("i")), ["0", "1"])
        equal(len(store.by_index("i", "0")), 1)
        dump = store.dumps()
    kit.delete("d")
    kit.create("newer")
    async with entered(kit.client()) as client:  # the dump is of the other service
        restored = client.store("configmaps", **kit.selection(restore=dump))
        equal(len(restored), 4, "restored")
        recorder = Recorder()
        restored.subscribe(**recorder.arguments())
        await until(lambda: len(recorder.calls) == 4, "additions")
        async with entered(restored):
            await equals_cluster(kit, restored)
            await until(lambda: recorder.known == kit.cluster(), "handlers")
            equal(sorted(recorder.kinds()[4:]), ["add", "delete"])


if __name__ == "__main__":
    main(globals())
