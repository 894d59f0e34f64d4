"""Tests of columns as the tables of pandas, polars and pyarrow."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pandas
import polars
import pyarrow
import pytest

from kubeconnect import Column
from kubeconnect.data import ColumnType, to_arrow, to_pandas, to_polars, to_records

NOON = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)

TYPES: dict[ColumnType, tuple[Any, Any, str, Any, Any]] = {
    # A value of each type, in objects and in records; its types in pandas, polars and Arrow.
    "string": ("a", "a", "string", polars.String, pyarrow.string()),
    "int": (3, 3, "Int64", polars.Int64, pyarrow.int64()),
    "float": (0.5, 0.5, "float64", polars.Float64, pyarrow.float64()),
    "bool": (True, True, "boolean", polars.Boolean, pyarrow.bool_()),
    "time": (
        "2026-01-02T12:00:00Z",
        NOON,
        "datetime64[us, UTC]",
        polars.Datetime("us", "UTC"),
        pyarrow.timestamp("us", tz="UTC"),
    ),
    "quantity": ("500m", 0.5, "float64", polars.Float64, pyarrow.float64()),
    "decimal": (
        "500m",
        Decimal("0.5"),
        "object",
        polars.Decimal(38, 9),
        pyarrow.decimal128(38, 9),
    ),
    "json": ({"a": ["ä"]}, {"a": ["ä"]}, "object", polars.String, pyarrow.string()),
}
IN_TEXT = '{"a":["ä"]}'
"""The value of the type "json" in polars and Arrow."""

all_types = pytest.mark.parametrize("type", TYPES)


def of(values: list[Any], path: str, type: ColumnType) -> tuple[Any, dict[str, Column]]:
    """Return objects with these values, and the column of the values."""
    objects = [
        {"metadata": {"namespace": "demo", "name": f"o{index}"}, "x": value}
        for index, value in enumerate(values)
    ]
    return objects, {"x": Column(path, type)}


@all_types
def test_values_in_pandas(type: ColumnType) -> None:
    value, expected, dtype, *_ = TYPES[type]
    frame = to_pandas(*of([value, None], "x", type))
    assert frame.dtypes.astype(str).to_dict() == {
        "namespace": "string",
        "name": "string",
        "x": dtype,
    }
    found, missing = frame["x"]
    assert found == expected
    assert pandas.isna(missing)


@all_types
def test_values_in_polars(type: ColumnType) -> None:
    value, expected, _, dtype, _ = TYPES[type]
    series = to_polars(*of([value, None], "x", type))["x"]
    assert series.dtype == dtype
    assert series.to_list() == [IN_TEXT if type == "json" else expected, None]


@all_types
def test_values_in_arrow(type: ColumnType) -> None:
    value, expected, *_, arrow_type = TYPES[type]
    column = to_arrow(*of([value, None], "x", type))["x"]
    assert column.type == arrow_type
    assert column.to_pylist() == [IN_TEXT if type == "json" else expected, None]


@all_types
def test_lists(type: ColumnType) -> None:
    value, expected, _, dtype, arrow_type = TYPES[type]
    objects, fields = of([[value, value], None], "x[*]", type)
    lists = [[expected, expected], []]
    assert to_pandas(objects, fields)["x"].tolist() == lists
    text = [[IN_TEXT, IN_TEXT], []] if type == "json" else lists
    series = to_polars(objects, fields)["x"]
    assert (series.dtype, series.to_list()) == (polars.List(dtype), text)
    column = to_arrow(objects, fields)["x"]
    assert (column.type, column.to_pylist()) == (pyarrow.list_(arrow_type), text)


@all_types
def test_frames_without_rows_have_the_same_types(type: ColumnType) -> None:
    _, _, dtype, polars_type, arrow_type = TYPES[type]
    empty: Any = []
    fields = {"x": Column("x", type)}
    frame = to_pandas(empty, fields)
    assert list(frame.columns) == ["namespace", "name", "x"]
    assert (len(frame), str(frame["x"].dtype)) == (0, dtype)
    assert to_polars(empty, fields).schema["x"] == polars_type
    assert to_arrow(empty, fields).schema.field("x").type == arrow_type


def test_a_text_in_a_json_column_is_json_in_polars_and_arrow() -> None:
    objects, fields = of(['a"', {}], "x", "json")
    assert to_polars(objects, fields)["x"].to_list() == ['"a\\""', "{}"]
    assert to_arrow(objects, fields)["x"].to_pylist() == ['"a\\""', "{}"]


@pytest.mark.parametrize(
    ("convert", "library", "extra"),
    [
        (to_pandas, "pandas", "pandas"),
        (to_polars, "polars", "polars"),
        (to_arrow, "pyarrow", "arrow"),
    ],
)
def test_names_the_extra_of_a_library_that_is_not_installed(
    convert: Callable[[Any], Any], library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    expected = rf"^{convert.__name__} needs {library}: pip install 'kubeconnect\[{extra}\]'$"
    with pytest.raises(ImportError, match=expected):
        convert([])


def many_pods(count: int) -> list[dict[str, Any]]:
    """Return pods with one to three containers, some of which lack something."""
    chance = random.Random(1)

    def container() -> dict[str, Any]:
        cpu = chance.choice(["100m", "0.25", "1", None])
        return {"image": f"i{chance.randrange(9)}", "requests": {"cpu": cpu} if cpu else {}}

    return [
        {
            "metadata": {"namespace": f"ns{index % 7}", "name": f"pod-{index}"},
            "spec": {
                "priority": index,
                "containers": [container() for _ in range(chance.randint(1, 3))],
                **({"nodeName": f"n{index % 50}"} if index % 11 else {}),
            },
            "status": {"startTime": f"2026-01-02T{index % 24:02}:00:00Z"} if index % 5 else {},
        }
        for index in range(count)
    ]


CPU = {None: Decimal(0), "100m": Decimal("0.1"), "0.25": Decimal("0.25"), "1": Decimal(1)}
MANY_FIELDS = {
    "node": "spec.nodeName",
    "priority": "spec.priority",
    "started": "status.startTime",
    "cpu": Column("spec.containers[*].requests.cpu", "quantity", "sum"),
    "images": "spec.containers[*].image",
}


def expected_record(pod: dict[str, Any]) -> dict[str, Any]:
    containers = pod["spec"]["containers"]
    started = pod["status"].get("startTime")
    hour = None if started is None else timedelta(hours=int(started[11:13]))
    return {
        "namespace": pod["metadata"]["namespace"],
        "name": pod["metadata"]["name"],
        "node": pod["spec"].get("nodeName"),
        "priority": pod["spec"]["priority"],
        "started": None if hour is None else datetime(2026, 1, 2, tzinfo=timezone.utc) + hour,
        "cpu": float(sum(CPU[each["requests"].get("cpu")] for each in containers)),
        "images": [each["image"] for each in containers],
    }


def test_20000_rows_are_those_of_a_loop_over_the_objects() -> None:
    pods = many_pods(20_000)
    expected = [expected_record(each) for each in pods]
    assert to_records(pods, MANY_FIELDS) == expected
    assert to_polars(pods, MANY_FIELDS).to_dicts() == expected
    assert to_arrow(pods, MANY_FIELDS).to_pylist() == expected
    frame = to_pandas(pods, MANY_FIELDS)
    assert len(frame) == 20_000
    assert frame.astype(object).where(frame.notna(), None).to_dict("records") == expected
    by_node = frame.groupby("node")["cpu"].sum()
    first = [each["cpu"] for each in expected if each["node"] == "n1"]
    assert math.isclose(by_node["n1"], math.fsum(first))
