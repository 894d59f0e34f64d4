"""Checks of records and data frames against what the documentation says. See check_kit.py."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

from check_kit import Kit, entered, equal, main, raises, result_of, until

from kubeconnect import Column
from kubeconnect.data import to_arrow, to_pandas, to_polars, to_records
from kubeconnect.k8s.core.v1 import Pod


def pod(kit: Kit, name: str, requests: list[dict[str, str]], **more: Any) -> None:
    """Create a pod that is never scheduled."""
    containers = [
        {"name": f"c{i}", "image": f"example.com/i{i}:1", "resources": {"requests": each}}
        for i, each in enumerate(requests)
    ]
    body = {
        "metadata": {"name": kit.full(name), "labels": {"check": kit.name}, **more},
        "spec": {
            "containers": containers,
            "schedulerName": "nobody",
            "terminationGracePeriodSeconds": 0,
        },
    }
    kit.admin.create("pods", body, namespace=kit.namespace)


CPU = "spec.containers[*].resources.requests.cpu"
COLUMNS = {
    "cpu": Column(CPU, "quantity", "sum"),
    "exact": Column(CPU, "decimal", "sum"),
    "most": Column(CPU, "quantity", "max"),
    "least": Column(CPU, "quantity", "min"),
    "first": Column(CPU, "quantity", "first"),
    "count": Column(CPU, aggregate="count"),
    "each": CPU,
    "images": "spec.containers[*].image",
    "created": "metadata.creationTimestamp",
    "started": Column("status.startTime", "time"),
    "grace": "spec.terminationGracePeriodSeconds",
    "tolerations": Column("spec.tolerations", "json"),
    "links": "spec.enableServiceLinks",
    "nothing": "spec.nodeName",
    "number": Column("spec.nodeName", "int"),
    "app": "metadata.annotations['example.com/app']",
}


async def check_columns(kit: Kit) -> None:
    """Columns have the documented types and values, in all forms."""
    pod(kit, "a", [{"cpu": "100m"}, {"cpu": "1.5"}, {}], annotations={"example.com/app": "x"})
    pod(kit, "b", [{}])
    pod(kit, "c", [{"cpu": "2"}])
    async with entered(kit.client()) as client:
        found = await result_of(
            client.list("pods", **kit.selection(fields=COLUMNS, consistency="latest", page_size=2))
        )
        records = await result_of(found.to_records())
        a, b, c = records
        equal(list(a), ["namespace", "name", *COLUMNS], "columns")
        equal((a["namespace"], a["name"]), (kit.namespace, kit.full("a")))
        equal((a["cpu"], b["cpu"], c["cpu"]), (1.6, b["cpu"], 2.0), "sum")
        equal((a["exact"], c["exact"]), (Decimal("1.6"), Decimal(2)))
        equal(type(a["exact"]), Decimal)
        equal((a["most"], a["least"], a["first"], a["count"]), (1.5, 0.1, 0.1, 2))
        equal((b["most"], b["least"], b["first"], b["count"]), (None, None, None, 0))
        equal(a["each"], ["100m", "1500m"], "not derived")
        equal(a["images"], ["example.com/i0:1", "example.com/i1:1", "example.com/i2:1"])
        assert isinstance(a["created"], datetime.datetime)
        assert a["created"].utcoffset() == datetime.timedelta(0)
        equal(
            (a["started"], a["nothing"], a["number"], a["grace"], a["links"]),
            (None, None, None, 0, True),
        )
        assert "key" in a["tolerations"][0], a["tolerations"]
        equal((a["app"], b["app"]), ("x", None))

        frame = await result_of(found.to_pandas())
        types = {name: str(each) for name, each in frame.dtypes.items()}
        equal(
            types,
            {
                "namespace": "string",
                "name": "string",
                "cpu": "float64",
                "exact": "object",
                "most": "float64",
                "least": "float64",
                "first": "float64",
                "count": "Int64",
                "each": "object",
                "images": "object",
                "created": "datetime64[us, UTC]",
                "started": "datetime64[us, UTC]",
                "grace": "Int64",
                "tolerations": "object",
                "links": "boolean",
                "nothing": "string",
                "number": "Int64",
                "app": "string",
            },
            "types of pandas",
        )
        equal(list(frame["name"]), [kit.full(name) for name in "abc"])
        assert frame["started"].isna().all()
        assert math.isnan(frame["most"][1])
        polars = await result_of(found.to_polars())
        equal(polars["count"].to_list(), [2, 0, 1])
        equal(str(polars.schema["created"]), "Datetime(time_unit='us', time_zone='UTC')")
        equal(str(polars.schema["exact"]), "Decimal(precision=38, scale=9)")
        equal(str(polars.schema["tolerations"]), "String")
        equal(polars["images"].to_list()[0], a["images"])
        arrow = await result_of(found.to_arrow())
        equal(
            [
                str(arrow.schema.field(name).type)
                for name in ("created", "cpu", "grace", "links", "name")
            ],
            ["timestamp[us, tz=UTC]", "double", "int64", "bool", "string"],
        )
        equal(arrow.num_rows, 3)

        default = await result_of(
            (
                await result_of(client.list("pods", **kit.selection(consistency="latest")))
            ).to_records()
        )
        equal(list(default[0]), ["namespace", "name", "uid", "created", "labels"])
        equal(default[0]["labels"], {"check": kit.name})
        paths = await result_of(
            (
                await result_of(
                    client.list(
                        "pods", **kit.selection(fields=["spec.schedulerName"], consistency="latest")
                    )
                )
            ).to_records()
        )
        equal(
            paths[0],
            {"namespace": kit.namespace, "name": kit.full("a"), "spec.schedulerName": "nobody"},
        )

        async with entered(client.store("pods", **kit.selection())) as store:
            await result_of(store.wait_synced())
            await until(lambda: len(store) == 3, "the pods")
            by_name = lambda each: each["name"]  # noqa: E731
            equal(sorted(to_records(store, COLUMNS), key=by_name), records, "a store")
        async with entered(client.store(Pod, **kit.selection())) as typed:
            await result_of(typed.wait_synced())
            await until(lambda: len(typed) == 3, "the pods")
            equal(sorted(to_records(typed, COLUMNS), key=by_name), records, "messages")
        plain = await result_of(
            (await result_of(client.list("pods", **kit.selection(consistency="latest")))).all()
        )
        equal(to_records([each.to_dict() for each in plain], COLUMNS), records, "dicts")

        error = await raises(
            ValueError, lambda: to_records(plain, {"x": Column("spec.schedulerName", "int")})
        )
        assert kit.full("a") in str(error), error
        await raises(
            ValueError, lambda: to_records(plain, {"x": Column("spec.schedulerName", "quantity")})
        )
        await raises(
            ValueError, lambda: to_records(plain, {"x": Column("spec.schedulerName", "time")})
        )
        equal(
            [each["name"] for each in to_records(plain, {"name": "spec.schedulerName"})],
            ["nobody"] * 3,
            "a column with the name of one of the first",
        )
        await raises(
            ValueError, lambda: to_records(plain, ["spec.a", "spec.a"]), "two columns of a name"
        )
        column: Any = Column
        await raises(ValueError, lambda: column("spec.a", "nothing"))
        await raises(ValueError, lambda: column("spec.a[*]", "int", "nothing"))
        await raises(ValueError, lambda: Column("spec..a"))
        equal(to_records([], COLUMNS), [])
        equal(
            list(to_pandas([], {"started": Column("a", "time")}).columns),
            ["namespace", "name", "started"],
        )
        equal(
            str(to_pandas([], {"started": Column("a", "time")}).dtypes["started"]),
            "datetime64[us, UTC]",
        )
        equal(to_polars([], {"n": Column("a", "int")}).schema["n"].is_integer(), True)
        equal(
            str(to_arrow([], {"n": Column("a", "decimal")}).schema.field("n").type),
            "decimal128(38, 9)",
        )

        nodes = await result_of((await result_of(client.list("nodes"))).to_records())
        equal(["namespace" in each for each in nodes[:1]], [False])
        table = await result_of(client.table("pods", **kit.selection()))
        rows = await result_of(table.to_records())
        equal(
            sorted(each["Name"] if "Name" in each else each["name"] for each in rows),
            [kit.full(x) for x in "abc"],
        )
        assert len(await result_of(table.to_pandas())) == 3


async def check_derived_types(kit: Kit) -> None:
    """Types are derived from the values."""

    def column(*values: Any, path: str = "v", **more: Any) -> list[Any]:
        made = [
            {
                "metadata": {"namespace": "n", "name": f"o{i}"},
                **({} if value is None else {"v": value}),
            }
            for i, value in enumerate(values)
        ]
        return [
            each["x"] for each in to_records(made, {"x": Column(path, **more) if more else path})
        ]

    def kind(*values: Any) -> str:
        made = [
            {
                "metadata": {"namespace": "n", "name": f"o{i}"},
                **({} if value is None else {"v": value}),
            }
            for i, value in enumerate(values)
        ]
        return str(to_pandas(made, {"x": "v"}).dtypes["x"])

    equal(kind(1, 2, None), "Int64")
    equal(kind(1.5, 2.5), "float64")
    equal(kind(True, None), "boolean")
    equal(kind("a", None), "string")
    equal(kind("2024-01-01T00:00:00Z", None), "datetime64[us, UTC]")
    equal(kind("2024-01-01T00:00:00Z", "x"), "string")
    equal(kind("100m", "1"), "string")
    equal(kind(None, None), "string")
    equal(kind({"a": 1}), "object")
    equal(kind([1, 2]), "object")
    equal(column(1, "a"), ["1", "a"], "several types")
    equal(column(1, "a", None), ["1", "a", None])
    equal(column(True, "a"), column(True, "a"))
    equal(column({"a": [1, {"b": None}]}), [{"a": [1, {"b": None}]}])
    equal(
        column(["1", "2"], [], None, path="v[*]"),
        [["1", "2"], [], None] if column(None, path="v[*]") == [None] else [["1", "2"], [], []],
    )
    equal(column(["1", "2"], [], path="v[*]", type="quantity", aggregate="sum")[0], 3.0)
    equal(column("1Ki", None, type="quantity"), [1024.0, None])
    equal(column(3, None, type="quantity"), [3.0, None], "a number is a quantity")
    equal(column("0.1", "100m", type="decimal"), [Decimal("0.1")] * 2)
    moment = datetime.datetime(2024, 1, 1, 12, 0, 0, 123456, tzinfo=datetime.timezone.utc)
    equal(column("2024-01-01T12:00:00.123456Z", type="time"), [moment])
    equal(column("2024-01-01T14:00:00.123456+02:00", type="time"), [moment], "an offset")
    equal(column(2**53 + 1, 9007199254740993), [2**53 + 1] * 2, "large integers")
    for wrong in ("x", 1.5, [1]):
        await raises(ValueError, lambda w=wrong: column(w, type="int"), repr(wrong))
    for wrong in ("yes", 1):
        await raises(ValueError, lambda w=wrong: column(w, type="bool"), repr(wrong))
    equal(column("80", 2.0, True, type="int"), [80, 2, 1])
    equal(column("a", 1, {"a": 1}, type="string"), ["a", "1", '{"a":1}'])
    del kit


if __name__ == "__main__":
    main(globals())
