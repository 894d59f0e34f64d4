"""Tests that run the programs of the README about data frames."""

import re
from pathlib import Path

import pytest

from kubeconnect.data import ColumnType, to_arrow, to_pandas, to_polars
from kubeconnect.v1 import watch_pb2
from tests.fake import FakeService, event, pod
from tests.test_data_frames import TYPES, of

README = Path(__file__).parents[1] / "README.md"
SECTION = README.read_text().split("\n## Notebooks and data frames\n")[1].split("\n## ")[0]
LIST, OTHERS = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
DOCUMENTED = dict(re.findall(r"^\| `(\w+)`[^|]*(\|.*\|)$", SECTION, re.MULTILINE))


def container(cpu: str, image: str) -> dict[str, object]:
    return {"image": image, "resources": {"requests": {"cpu": cpu}}}


def run(program: str, service: FakeService) -> None:
    exec(program.replace("http://127.0.0.1:8080", service.address), {})


def test_a_list_as_a_frame(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    containers = [container("100m", "a"), container("0.2", "b")]
    status = {"startTime": "2026-01-02T12:00:00Z"}
    service.objects = [
        pod(name, spec={"nodeName": "n1", "containers": containers}, status=status)
        for name in ("web", "db")
    ]
    run(LIST, service)
    printed = " ".join(capsys.readouterr().out.split()).replace(
        "string[python]", "string"
    )  # pandas 2
    assert "node string started datetime64[us, UTC] cpu float64 images object" in printed
    assert "namespace node demo n1 0.6 Name: cpu" in printed
    assert "images a 2 b 2 Name: count" in printed
    assert list(service.requests[-1].fields) == [
        "spec.nodeName",
        "status.startTime",
        "spec.containers[*].resources.requests.cpu",
        "spec.containers[*].image",
    ]


def test_a_table_and_a_store_as_frames(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    web = pod("web", spec={"nodeName": "n1"})
    service.objects = [web]
    reset = event(watch_pb2.EVENT_TYPE_RESET, None, "")
    added = event(watch_pb2.EVENT_TYPE_ADDED, web, "7")
    service.play([reset, added, event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")])
    run(OTHERS, service)
    table, records, *frame = capsys.readouterr().out.splitlines()
    assert table == "['Namespace', 'Name', 'Restarts']"
    assert records == "[{'namespace': 'demo', 'name': 'web', 'spec.nodeName': 'n1'}]"
    assert any("n1" in line and "1" in line for line in frame)


@pytest.mark.parametrize("type", TYPES)
def test_the_types_are_those_of_the_frames(type: ColumnType) -> None:
    objects, fields = of([TYPES[type][0]], "x", type)
    _, pandas, polars, arrow = DOCUMENTED[type].strip("| ").split(" | ")
    found = str(to_pandas(objects, fields)["x"].dtype)
    assert pandas.strip("`") == {"object": "objects"}.get(found, found)
    in_polars = str(to_polars(objects, fields).schema["x"])
    in_arrow = str(to_arrow(objects, fields).schema.field("x").type)
    if type == "json":
        assert (in_polars, in_arrow) == ("String", "string")
        assert (polars, arrow) == ("JSON text", "JSON text")
    else:
        assert in_polars.startswith(polars.strip("`"))
        assert in_arrow.startswith(arrow.strip("`"))
