"""Tests with random changes that live pages and counts are those of a list and a count."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kubeconnect import Average, Client, CountResult, Max, Min, Page, PageChangeType, Sum
from kubeconnect.testing import FakeService

ORDER = "data.rank, metadata.name desc"
RANKS = ["1", "2", "10", "500m", "x", "true"]
AGGREGATES = {
    "sum": Sum("data.rank"),
    "mean": Average("data.rank"),
    "least": Min("data.rank"),
    "most": Max("data.rank"),
}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)


def change(fake: FakeService, chance: random.Random) -> None:
    """Create, change or delete an object, or break the streams."""
    name = f"c{chance.randrange(8)}"
    match chance.randrange(8):
        case 0:
            fake.disconnect()
        case 1 if chance.random() < 0.3:
            fake.reset()
        case 2 if any(each.name == name for each in fake.list("configmaps")):
            fake.delete("configmaps", name)
        case _:
            data = {"rank": chance.choice(RANKS)} if chance.random() < 0.9 else {}
            metadata = {"name": name}
            head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            fake.put({**head, "data": data})


def apply(copy: list[Any], page: Page[Any]) -> None:
    """Change a copy of the page before."""
    for each in page.changes:
        if each.type is PageChangeType.DELETED:
            assert copy.pop(each.index).name == each.object.name
            continue
        if each.type is not PageChangeType.ADDED:
            (place,) = [n for n, other in enumerate(copy) if other.name == each.object.name]
            copy.pop(place)
        copy.insert(each.index, each.object)


def shown(objects: Any) -> list[tuple[str, str]]:
    return [(each.name, each.resource_version) for each in objects]


def expected(client: Client, offset: int, limit: int) -> list[tuple[str, str]]:
    return shown(client.list("configmaps", order_by=ORDER).all()[offset : offset + limit])


@pytest.mark.parametrize("seed", range(15))
def test_a_page_is_a_part_of_the_list(seed: int) -> None:
    chance = random.Random(seed)
    with FakeService(heartbeat=0.05) as fake:
        client, copy, offset, limit = fake.client(), list[Any](), 0, 3
        with client.live_page("configmaps", order_by=ORDER, limit=limit, timeout=60) as live:
            for _ in range(40):
                if chance.random() < 0.2:
                    offset, limit = chance.randrange(6), chance.randrange(1, 5)
                    live.scroll(offset=offset, limit=limit)
                change(fake, chance)
                wanted = expected(client, offset, limit)
                while shown(copy) != wanted:
                    page = next(live)
                    apply(copy, page)
                    assert shown(copy) == shown(page.objects)


def numbers(count: CountResult) -> tuple[Any, ...]:
    return count.total, count.groups, dict(count.aggregates)


@pytest.mark.parametrize("seed", range(5))
def test_live_counts_are_those_of_a_count(seed: int) -> None:
    chance = random.Random(seed)
    options: dict[str, Any] = {"group_by": ["data.rank"], "aggregates": AGGREGATES}
    with FakeService(heartbeat=0.05) as fake:
        client = fake.client()
        with client.watch_counts("configmaps", timeout=60, **options) as live:
            found = next(live)
            for _ in range(40):
                change(fake, chance)
                wanted = client.count("configmaps", **options)
                while numbers(found) != numbers(wanted):
                    found = next(live)
