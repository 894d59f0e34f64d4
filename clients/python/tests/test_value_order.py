"""Tests of the order of values."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from kubeconnect._value_order import quantity, sort_key


def test_the_order_of_values() -> None:
    ordered = [
        None,
        False,
        True,
        -1,
        "100m",
        0.5,
        1,
        "1500m",
        "2Ki",
        "a",
        "web-2",
        "web-10",
        "web2",
    ]
    shuffled = random.Random(1).sample(ordered, len(ordered))
    assert sorted(shuffled, key=sort_key) == ordered


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("500m", Decimal("0.5")),
        ("2Gi", Decimal(2 * 1024**3)),
        ("1e3", Decimal(1000)),
        ("-1", Decimal(-1)),
        ("", None),
        ("web-1", None),
        ("1.2.3", None),
        ("1e99999", None),
        ("1" * 65, None),
    ],
)
def test_the_number_of_a_quantity(text: str, number: Decimal | None) -> None:
    assert quantity(text) == number
