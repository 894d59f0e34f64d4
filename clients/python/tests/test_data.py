"""Tests of the columns of objects, as records."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from kubeconnect import Column, Object, Resource, UnreadableObject
from kubeconnect._typed_columns import read_columns
from kubeconnect.data import Aggregate, ColumnType, to_records
from kubeconnect.k8s.core.v1 import Node, Pod, PodSpec
from kubeconnect.k8s.meta.v1 import ObjectMeta
from kubeconnect.v1 import object_pb2
from tests.fake import PODS, pod

NOON = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)
KIND = Resource.from_message(PODS)


def of_values(*values: Any) -> list[dict[str, Any]]:
    """Return objects with a value at "spec.x"; without it for None."""
    return [
        {"metadata": {"name": f"o{index}"}, "spec": {} if value is None else {"x": value}}
        for index, value in enumerate(values)
    ]


def column(path: str, *values: Any, **options: Any) -> tuple[str, list[Any]]:
    """Return the type and values of a column of objects with these values."""
    found = read_columns(of_values(*values), {"x": Column(path, **options)})[-1]
    return found.type, list(found.values)


@pytest.mark.parametrize(
    ("values", "type", "converted"),
    [
        pytest.param(["a", None, ""], "string", ["a", None, ""], id="strings"),
        pytest.param([1, None, -(2**63)], "int", [1, None, -(2**63)], id="integers"),
        pytest.param([1, 2**63], "float", [1.0, 2.0**63], id="integers above 64 bits"),
        pytest.param([1, 0.5, None], "float", [1.0, 0.5, None], id="numbers"),
        pytest.param([True, None], "bool", [True, None], id="booleans"),
        pytest.param(["2026-01-02T12:00:00Z", None], "time", [NOON, None], id="times"),
        pytest.param(
            ["2026-01-02T12:00:00.1234567Z", "2026-01-02T14:30:00+02:30"],
            "time",
            [NOON + timedelta(microseconds=123456), NOON],
            id="times with fractions and offsets",
        ),
        pytest.param(
            ["2026-01-02T12:00:00Z", "soon"],
            "string",
            ["2026-01-02T12:00:00Z", "soon"],
            id="times and other strings",
        ),
        pytest.param(
            ["2026-13-02T12:00:00Z"], "string", ["2026-13-02T12:00:00Z"], id="no such month"
        ),
        pytest.param(
            ["0001-01-01T00:00:00+01:00"], "string", ["0001-01-01T00:00:00+01:00"], id="before 1"
        ),
        pytest.param(["100m"], "string", ["100m"], id="quantities"),
        pytest.param([80, "http", True], "string", ["80", "http", "true"], id="mixed scalars"),
        pytest.param([{"a": 1}, None], "json", [{"a": 1}, None], id="objects"),
        pytest.param([[1], "a", 2], "json", [[1], "a", 2], id="mixed with lists"),
        pytest.param([None, None], "string", [None, None], id="missing"),
        pytest.param([], "string", [], id="no objects"),
    ],
)
def test_derives_the_type_of_a_column(values: list[Any], type: str, converted: list[Any]) -> None:
    assert column("spec.x", *values) == (type, converted)


@pytest.mark.parametrize(
    ("type", "values", "converted"),
    [
        ("string", ["a", 80, {"a": "ä"}, None], ["a", "80", '{"a":"ä"}', None]),
        ("int", [80, "80", "-1", 2.0, True, None], [80, 80, -1, 2, 1, None]),
        ("float", [80, "0.5", 0.5, None], [80.0, 0.5, 0.5, None]),
        ("bool", [True, "true", "false", None], [True, True, False, None]),
        ("time", ["2026-01-02T12:00:00Z", None], [NOON, None]),
        ("quantity", ["500m", "1Ki", 2, 0.5, None], [0.5, 1024.0, 2.0, 0.5, None]),
        (
            "decimal",
            ["500m", "1Ki", 2, 0.1, None],
            [Decimal("0.5"), Decimal(1024), Decimal(2), Decimal("0.1"), None],
        ),
        ("json", ["a", {"a": 1}, None], ["a", {"a": 1}, None]),
    ],
)
def test_converts_to_a_type(type: ColumnType, values: list[Any], converted: list[Any]) -> None:
    found, values = column("spec.x", *values, type=type)
    assert (found, values) == (type, converted)
    assert list(map(repr, values)) == list(map(repr, converted))


@pytest.mark.parametrize(
    ("type", "value"),
    [
        *product(["int"], ["a", "", 0.5, 2**63, "9" * 5000, {}, "1 000"]),
        *product(["float"], ["a", True, {}, 10**400]),
        *product(["bool"], ["yes", 1, {}]),
        *product(["time"], ["2026-01-02", "12:00", 0, "2026-13-02T12:00:00Z"]),
        *product(["time"], ["0001-01-01T00:00:00+01:00", "2026-01-02T12:00:00"]),
        *product(["quantity"], ["a", "1 Gi", True, {}, []]),
        *product(["decimal"], ["a", "", False]),
    ],
)
def test_reports_the_object_whose_value_is_not_of_the_type(type: ColumnType, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^column 'x' of o1: "):
        column("spec.x", None, value, type=type)


def of_lists(*lists: list[Any] | None) -> list[list[dict[str, Any]] | None]:
    return [None if each is None else [{"y": value} for value in each] for each in lists]


def test_a_path_to_several_values_is_a_column_of_lists() -> None:
    lists = [*of_lists(["1", "2"], None, []), [{}, {"y": None}, {"y": "3"}]]
    assert column("spec.x[*].y", *lists) == ("string", [["1", "2"], [], [], ["3"]])
    assert column("spec.x[*].y", *lists, type="quantity") == (
        "quantity",
        [[1.0, 2.0], [], [], [3.0]],
    )


@pytest.mark.parametrize(
    ("aggregate", "values"),
    [
        ("sum", [3, 0]),
        ("min", [1, None]),
        ("max", [2, None]),
        ("first", [2, None]),
        ("count", [2, 0]),
    ],
)
def test_aggregates_values(aggregate: Aggregate, values: list[Any]) -> None:
    lists = of_lists([2, 1], None)
    assert column("spec.x[*].y", *lists, aggregate=aggregate) == ("int", values)


def test_the_sum_of_quantities_is_exact() -> None:
    lists = of_lists(["100m"] * 3, [])
    assert column("spec.x[*].y", *lists, type="quantity", aggregate="sum")[1] == [0.3, 0.0]
    found = column("spec.x[*].y", *lists, type="decimal", aggregate="sum")[1]
    assert found == [Decimal("0.3"), Decimal(0)]
    assert all(isinstance(each, Decimal) for each in found)


def test_the_sum_of_no_values_at_all_is_an_integer() -> None:
    assert column("spec.x[*].y", *of_lists([], None), aggregate="sum") == ("int", [0, 0])


def test_the_count_is_an_integer_for_each_type() -> None:
    lists = of_lists([{"a": 1}, "b"])
    assert column("spec.x[*].y", *lists, type="quantity", aggregate="count") == ("int", [2])


@pytest.mark.parametrize(
    ("value", "aggregate", "problem"),
    [
        ("a", "sum", "values of the type string have no sum"),
        ({}, "max", "lists and objects have no max"),
    ],
)
def test_rejects_an_aggregate_that_values_do_not_have(
    value: Any, aggregate: Aggregate, problem: str
) -> None:
    with pytest.raises(ValueError, match=f"^column 'x': {problem}$"):
        column("spec.x[*].y", *of_lists([value]), aggregate=aggregate)


def test_reports_the_object_with_an_invalid_element() -> None:
    objects = [{"metadata": {"namespace": "a", "name": "b"}, "spec": {"x": [{"y": "no"}]}}]
    with pytest.raises(ValueError, match=r"^column 'cpu' of a/b: 'no' is not a quantity"):
        to_records(objects, {"cpu": Column("spec.x[*].y", "quantity", "sum")})


@pytest.mark.parametrize("path", ["", "a[0]", "a..b", "a[*"])
def test_rejects_an_invalid_path(path: str) -> None:
    for fields in ([path], {"x": path}):
        with pytest.raises(ValueError, match="is not a field path"):
            to_records([], fields)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"type": "date"}, "unknown type 'date': write one of string, int"),
        ({"aggregate": "mean"}, "unknown aggregate 'mean': write one of sum"),
        ({"aggregate": "sum"}, r"'spec.x' leads to one value: an aggregate needs a path with \[\*"),
    ],
)
def test_rejects_an_invalid_column(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Column("spec.x", **options)


def test_rejects_two_columns_of_the_same_name() -> None:
    with pytest.raises(ValueError, match=r"two columns have the name 'spec.x'"):
        to_records([], ["spec.x", Column("spec.x", "int")])


def test_rejects_a_str_as_fields() -> None:
    with pytest.raises(TypeError, match=r"paths must be a list of str, such as \['spec.x'\]"):
        to_records([], "spec.x")


def test_a_record_has_the_namespace_the_name_and_the_fields() -> None:
    web = Object(pod("web", spec={"nodeName": "n1"}), KIND)
    expected = {"namespace": "demo", "name": "web", "spec.nodeName": "n1"}
    assert to_records([web], ["spec.nodeName"]) == [expected]
    assert to_records([web], {"name": "spec.nodeName"}) == [{"namespace": "demo", "name": "n1"}]
    assert to_records([web], {}) == [{"namespace": "demo", "name": "web"}]


def test_without_fields_a_record_has_the_identity_the_creation_and_the_labels() -> None:
    metadata = {
        "namespace": "demo",
        "name": "web",
        "uid": "u1",
        "creationTimestamp": "2026-01-02T12:00:00Z",
        "labels": {"app": "web"},
    }
    assert to_records([{"metadata": metadata}]) == [
        {
            "namespace": "demo",
            "name": "web",
            "uid": "u1",
            "created": NOON,
            "labels": {"app": "web"},
        }
    ]


def test_objects_without_a_namespace_have_no_such_column() -> None:
    assert to_records([Node(metadata=ObjectMeta(name="n1"))], {}) == [{"name": "n1"}]
    assert [each.name for each in read_columns([], {})] == ["namespace", "name"]


def test_reads_messages() -> None:
    web = Pod(metadata=ObjectMeta(namespace="demo", name="web"), spec=PodSpec(nodeName="n1"))
    assert to_records([web], {"node": "spec.nodeName"}) == [
        {"namespace": "demo", "name": "web", "node": "n1"}
    ]
    with pytest.raises(TypeError, match="PodSpec is not a kind"):
        to_records([PodSpec()])  # type: ignore[list-item]


def test_an_unreadable_object_is_an_error_unless_only_its_name_is_needed() -> None:
    web = Object(object_pb2.Object(namespace="demo", name="web"), KIND)
    assert to_records([web], {}) == [{"namespace": "demo", "name": "web"}]
    with pytest.raises(UnreadableObject, match="web was sent without content"):
        to_records([web], ["spec.nodeName"])


def test_importing_the_package_imports_no_library_for_data() -> None:
    libraries = {"numpy", "pandas", "polars", "pyarrow"}
    program = f"import kubeconnect.data, sys; print(sorted({libraries} & set(sys.modules)))"
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed == "[]\n"
