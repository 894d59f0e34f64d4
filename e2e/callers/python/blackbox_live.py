"""Scenarios of counts with aggregates, live counts and live pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, TypeVar

from blackbox_common import LIMIT_SECONDS, World, equal, labeled, raises
from blackbox_watches import relabel

import kubeconnect
from kubeconnect import (
    Average,
    CountResult,
    Join,
    LivePage,
    Max,
    Min,
    Page,
    PageChange,
    PageChangeType,
    Sum,
)
from kubeconnect.k8s.core.v1 import ConfigMap

T = TypeVar("T")

TIER = "metadata.labels.tier"
CPU = {
    "sum": Sum("data.cpu"),
    "mean": Average("data.cpu"),
    "least": Min("data.cpu"),
    "most": Max("data.cpu"),
}


def create(world: World, name: str, tier: str, **data: str) -> kubeconnect.Object:
    """Create a ConfigMap that the scenarios select."""
    return world.create(name, metadata=labeled(app="web", tier=tier), data=data)


def until(steps: Iterable[T], condition: Callable[[T], bool]) -> T:
    """Return the first step for which a condition is true."""
    return next(step for step in steps if condition(step))


def counts_have_aggregates(world: World) -> None:
    """Sums are exact, in total and of each group; minima and maxima are as in the objects."""
    create(world, "web-1", "front", cpu="100m")
    create(world, "web-2", "front", cpu="200m")
    create(world, "web-3", "back", cpu="1")
    version = create(world, "web-4", "back", memory="1Gi").resource_version
    count = world.client.count(
        "configmaps",
        namespace=world.namespace,
        label_selector="app=web",
        group_by=[TIER],
        aggregates=CPU,
        min_resource_version=version,
    )
    equal(count.total, 4)
    equal(count.aggregates["sum"].exact, Decimal("1.3"))
    equal(count.aggregates["sum"].value, 1.3)
    equal((count.aggregates["least"].value, count.aggregates["most"].value), ("100m", "1"))
    equal(count.aggregates["sum"].value_count, 3)
    found = {each.values: each.aggregates["sum"].exact for each in count.groups}
    equal(found, {("front",): Decimal("0.3"), ("back",): Decimal(1)})
    third = Decimal("1.3") / 3
    mean = count.aggregates["mean"].exact
    assert mean is not None
    assert abs(mean - third) < Decimal("1e-19"), mean
    records = count.to_records()
    equal({each[TIER]: each["sum"] for each in records}, {"front": 0.3, "back": 1.0})


def values_without_numbers_have_no_sum(world: World) -> None:
    """Texts are left out of sums, and missing values are not counted."""
    create(world, "web-1", "front", cpu="many")
    version = create(world, "web-2", "front").resource_version
    selection: dict[str, Any] = {
        "namespace": world.namespace,
        "label_selector": "app=web",
        "min_resource_version": version,
    }
    found = world.client.count("configmaps", aggregates=CPU, **selection).aggregates
    equal((found["sum"].value, found["sum"].exact), (None, None))
    equal((found["sum"].value_count, found["sum"].omitted_value_count), (0, 1))
    equal((found["most"].value, found["most"].exact), ("many", None))
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        world.client.count("configmaps", aggregates={"labels": Max("metadata.labels")}, **selection)
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        same = {"a": Sum("data.cpu"), "b": Sum("data.cpu")}
        world.client.count("configmaps", aggregates=same, **selection)


def counts_stay_live(world: World) -> None:
    """Live counts are those of a count, also after a lost stream and a reset."""
    create(world, "web-1", "front", cpu="100m")
    version = create(world, "web-2", "front", cpu="200m").resource_version
    with world.client.watch_counts(
        "configmaps",
        namespace=world.namespace,
        label_selector="app=web",
        group_by=[TIER],
        aggregates=CPU,
        min_interval=0.1,
        min_resource_version=version,
        timeout=LIMIT_SECONDS,
    ) as live:
        first = next(live)
        equal((first.total, groups(first)), (2, {"front": 2}))
        equal(first.aggregates["sum"].exact, Decimal("0.3"))
        create(world, "web-3", "back", cpu="1")
        found = until(live, lambda each: each.total == 3)
        equal(groups(found), {"front": 2, "back": 1})
        equal((found.groups[0].count, found.aggregates["sum"].exact), (2, Decimal("1.3")))
        relabel(world, "web-3", "db")
        found = until(live, lambda each: each.total == 2)
        equal(groups(found), {"front": 2})
        world.faults.disconnect()
        world.client.delete("configmaps", "web-1", namespace=world.namespace)
        found = until(live, lambda each: each.total == 1)
        equal(found.aggregates["least"].value, "200m")
        world.faults.reset()
        create(world, "web-4", "back", cpu="3")
        found = until(live, lambda each: each.total == 2)
        equal(groups(found), {"front": 1, "back": 1})
        equal(found.aggregates["sum"].exact, Decimal("3.2"))
        assert live.freshness is not None


def groups(count: CountResult) -> dict[Any, int]:
    """Return the number of objects of each group."""
    return {each.values[0]: each.count for each in count.groups}


class Mirror:
    """A live page, and a copy of it that is changed by the changes of each step."""

    def __init__(self, live: LivePage[Any]) -> None:
        """Begin without objects."""
        self._live = live
        self._copy: list[Any] = []

    def until(self, *names: str, total: int | None = None) -> Page[Any]:
        """Wait for the page with these objects, and check that its changes lead to it."""
        for page in self._live:
            for change in page.changes:
                self._apply(change)
            equal([each.name for each in self._copy], [each.name for each in page.objects])
            found = [each.name for each in page.objects]
            if found == list(names) and total in (None, page.total):
                return page
        raise AssertionError("the page has ended")

    def _apply(self, change: PageChange[Any]) -> None:
        if change.type is PageChangeType.DELETED:
            equal(self._copy.pop(change.index).name, change.object.name)
            return
        if change.type is not PageChangeType.ADDED:
            self._copy = [each for each in self._copy if each.name != change.object.name]
        self._copy.insert(change.index, change.object)


def page_of(world: World, **options: Any) -> LivePage[Any]:
    """Return a live page of three objects, ordered by their rank."""
    options = {"order_by": "data.rank", "limit": 3, **options}
    return world.client.live_page(
        "configmaps",
        namespace=world.namespace,
        label_selector="app=web",
        timeout=LIMIT_SECONDS,
        **options,
    )


def rank(world: World, name: str, rank: str) -> None:
    """Change the rank of an object."""
    patch = {"data": {"rank": rank}}
    world.client.patch("configmaps", name, patch, namespace=world.namespace, type="merge")


def a_page_stays_live(world: World) -> None:
    """Objects enter, leave, and move on a page, and the total is right."""
    for number in range(1, 5):
        version = create(world, f"web-{number}", "front", rank=f"{number}0").resource_version
    with page_of(world, min_resource_version=version) as live:
        mirror = Mirror(live)
        first = mirror.until("web-1", "web-2", "web-3")
        equal((first.total, first.offset), (4, 0))
        equal({each.type for each in first.changes}, {PageChangeType.ADDED})
        create(world, "web-5", "front", rank="15")
        mirror.until("web-1", "web-5", "web-2", total=5)
        rank(world, "web-1", "17")
        page = mirror.until("web-5", "web-1", "web-2")
        equal(page.objects[1]["data"]["rank"], "17")
        world.client.delete("configmaps", "web-5", namespace=world.namespace)
        mirror.until("web-1", "web-2", "web-3", total=4)
        relabel(world, "web-4", "db")
        mirror.until("web-1", "web-2", "web-3", total=3)
        relabel(world, "web-2", "db")
        mirror.until("web-1", "web-3", total=2)
        assert live.freshness is not None


def a_page_is_scrolled(world: World) -> None:
    """A page goes to another offset, or after an object, with another limit."""
    for number in range(1, 8):
        version = create(world, f"web-{number}", "front", rank=f"{number}0").resource_version
    with page_of(world, min_resource_version=version) as live:
        mirror = Mirror(live)
        page = mirror.until("web-1", "web-2", "web-3")
        live.scroll(offset=2)
        page = mirror.until("web-3", "web-4", "web-5")
        equal((page.total, page.offset), (7, 2))
        live.scroll(after=page.objects[-1])
        equal(mirror.until("web-6", "web-7").offset, 5)
        live.scroll(limit=1)
        mirror.until("web-6")
        live.scroll(offset=100)
        equal(mirror.until().offset, 7)
        live.scroll(after=(world.namespace, "web-1"), limit=2)
        mirror.until("web-2", "web-3")
        rank(world, "web-1", "35")
        equal(mirror.until("web-4", "web-5").offset, 3)
        world.client.delete("configmaps", "web-2", namespace=world.namespace)
        equal(mirror.until("web-4", "web-5", total=6).offset, 2)
        world.client.delete("configmaps", "web-1", namespace=world.namespace)
        equal(mirror.until("web-4", "web-5", total=5).offset, 1)


def a_page_is_resumed(world: World) -> None:
    """A page is right after a lost stream, and after a reset."""
    for number in range(1, 5):
        version = create(world, f"web-{number}", "front", rank=f"{number}0").resource_version
    with page_of(world, min_resource_version=version, order_by="data.rank desc") as live:
        mirror = Mirror(live)
        mirror.until("web-4", "web-3", "web-2")
        world.faults.disconnect()
        rank(world, "web-2", "50")
        world.client.delete("configmaps", "web-3", namespace=world.namespace)
        mirror.until("web-2", "web-4", "web-1", total=3)
        world.faults.reset()
        create(world, "web-5", "front", rank="45")
        mirror.until("web-2", "web-5", "web-4", total=4)
        live.scroll(offset=1)
        equal(mirror.until("web-5", "web-4", "web-1").offset, 1)


def a_page_has_related_objects(world: World) -> None:
    """A change of a related object changes the objects of the page."""
    create(world, "web-1", "front", rank="1", uses="settings")
    version = create(world, "web-2", "front", rank="2").resource_version
    join = Join("named_by", "configmaps", path="data.uses", fields=["data.color"])

    def colors(page: Page[Any]) -> list[str | None]:
        found = [each.joined["settings"].first for each in page.objects]
        return [each["data"]["color"] if each else None for each in found]

    with page_of(world, min_resource_version=version, joins={"settings": join}) as live:
        equal(colors(next(live)), [None, None])
        world.create("settings", data={"color": "red"})
        page = until(live, lambda each: colors(each) == ["red", None])
        equal([each.type for each in page.changes], [PageChangeType.MODIFIED])
        world.faults.disconnect()
        patch = {"data": {"color": "blue"}}
        world.client.patch("configmaps", "settings", patch, namespace=world.namespace, type="merge")
        until(live, lambda each: colors(each) == ["blue", None])
        world.client.delete("configmaps", "settings", namespace=world.namespace)
        until(live, lambda each: colors(each) == [None, None])
        live.scroll(offset=1)
        equal(colors(until(live, lambda each: each.offset == 1)), [None])


def a_page_has_messages(world: World) -> None:
    """The objects of a page can be messages."""
    version = create(world, "web", "front", rank="1").resource_version
    with world.client.live_page(
        ConfigMap,
        namespace=world.namespace,
        label_selector="app=web",
        min_resource_version=version,
        timeout=LIMIT_SECONDS,
    ) as live:
        page = next(live)
        equal([dict(each.data) for each in page.objects], [{"rank": "1"}])


def pages_that_are_none_are_rejected(world: World) -> None:
    """A page has errors for what it cannot have."""
    version = create(world, "web", "front").resource_version
    for options in ({"limit": 501}, {"offset": -1}, {"order_by": "metadata.labels"}):
        with (
            raises(kubeconnect.InvalidArgument, "BadRequest"),
            page_of(world, min_resource_version=version, **options) as live,
        ):
            next(live)
    with (
        raises(kubeconnect.NotFound, "NotFound"),
        page_of(world, after=(world.namespace, "nobody")) as live,
    ):
        next(live)


SCENARIOS = (
    counts_have_aggregates,
    values_without_numbers_have_no_sum,
    counts_stay_live,
    a_page_stays_live,
    a_page_is_scrolled,
    a_page_is_resumed,
    a_page_has_related_objects,
    a_page_has_messages,
    pages_that_are_none_are_rejected,
)
