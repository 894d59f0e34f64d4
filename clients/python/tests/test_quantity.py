"""Tests of quantities against the values that k8s.io/apimachinery reads."""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import TypedDict

import pytest

from kubeconnect.k8s import _quantity
from kubeconnect.k8s.helpers import to_decimal, to_decimals, to_quantities, to_quantity
from kubeconnect.k8s.quantity import Quantity


class Case(TypedDict, total=False):
    text: str
    value: str
    canonical: str


CASES: list[Case] = json.loads((Path(__file__).parent / "data/quantities.json").read_text())
# Kubernetes reads a number without digits as 0.
WITHOUT_DIGITS = re.compile(r"[+-]?\.?[a-zA-Z]")
VALID = [case for case in CASES if "value" in case and not WITHOUT_DIGITS.match(case["text"])]
INVALID = [case for case in CASES if "value" not in case]


def test_there_are_cases_of_both_kinds() -> None:
    assert len(VALID) > 300
    assert len(INVALID) > 100


def test_values_are_those_of_kubernetes() -> None:
    assert {case["text"]: to_decimal(case["text"]) for case in VALID} == {
        case["text"]: Decimal(case["value"]) for case in VALID
    }


def test_canonical_forms_are_those_of_kubernetes() -> None:
    assert {case["text"]: to_quantity(case["text"]).string for case in VALID} == {
        case["text"]: case["canonical"] for case in VALID
    }


@pytest.mark.parametrize("binary", [False, True])
def test_written_numbers_have_the_same_value(binary: bool) -> None:
    for case in VALID:
        value = to_decimal(case["text"])
        assert to_decimal(to_quantity(value, binary=binary)) == value, case


def test_a_canonical_form_is_not_changed() -> None:
    for case in VALID:
        canonical = to_quantity(case["text"])
        assert to_quantity(canonical.string) == canonical


def test_rejects_what_kubernetes_rejects() -> None:
    for case in INVALID:
        with pytest.raises(ValueError, match="is not a quantity"):
            to_decimal(case["text"])


@pytest.mark.parametrize(
    "text", ["", "+", ".", "Ki", "E-3", "-.5Kim", "1 ", "1\n", "\u0661", "1e", "NaN"]
)
def test_rejects_what_is_not_a_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        to_decimal(text)


def test_an_exponent_has_a_limit() -> None:
    assert to_decimal("1e-2147483648") == Decimal("0.000000001")
    with pytest.raises(ValueError, match="exponent"):
        to_decimal("1e2147483648")


@pytest.mark.parametrize(
    ("value", "binary", "text"),
    [
        (0, False, "0"),
        (0, True, "0"),
        (3, False, "3"),
        (-3, False, "-3"),
        (1500, False, "1500"),
        (2000, False, "2k"),
        (Decimal("0.5"), False, "500m"),
        (Decimal("1E+3"), False, "1k"),
        (Decimal("1E-10"), False, "1n"),
        (Decimal("-1E-10"), False, "-1n"),
        (10**21, False, "1000E"),
        (1024, True, "1Ki"),
        (1023, True, "1023"),
        (-2048, True, "-2Ki"),
        (512 * 1024**2, True, "512Mi"),
        (Decimal("1024.5"), True, "1024500m"),
        (1000**2, True, "1000000"),
        (2**63, True, "9223372036854775808"),
    ],
)
def test_a_number_is_written_in_canonical_form(
    value: Decimal | int, binary: bool, text: str
) -> None:
    assert to_quantity(value, binary=binary) == Quantity(string=text)


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("Infinity")])
def test_a_number_must_be_finite(value: Decimal) -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        to_quantity(value)


def test_a_text_keeps_its_type_of_suffix() -> None:
    assert to_quantity("0.5Gi").string == "512Mi"
    assert to_quantity("1.5").string == "1500m"
    assert to_quantity("1500e3").string == "1500e3"
    assert _quantity.parse("0.0005Ki").format is _quantity.Format.DECIMAL


def test_a_quantity_that_is_not_set_is_zero() -> None:
    assert to_decimal(Quantity()) == 0


def test_maps_of_quantities() -> None:
    limits = to_quantities({"cpu": Decimal("0.5"), "memory": "0.5Gi", "pods": 3})
    assert {name: each.string for name, each in limits.items()} == {
        "cpu": "500m",
        "memory": "512Mi",
        "pods": "3",
    }
    assert to_decimals(limits) == {"cpu": Decimal("0.5"), "memory": 2**29, "pods": 3}


def test_whole_numbers_are_written_out() -> None:
    assert [str(to_decimal(text)) for text in ("10k", "1e3", "-4Gi", "500m", "0k")] == [
        "10000",
        "1000",
        "-4294967296",
        "0.5",
        "0",
    ]
    assert to_decimal("1e2147483647") == Decimal("1e2147483647")
