"""Tests of what notebooks show."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from html.parser import HTMLParser
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Value

from kubeconnect import Client, Object, Resource
from kubeconnect._html import MAX_ROWS, html_properties, html_table, without_empty
from kubeconnect.v1 import object_pb2, read_pb2, table_pb2
from kubeconnect.v1.status_pb2 import Status
from tests.fake import PODS, FakeService, pod

HOSTILE = "</td><script>alert('1')</script><img src=x onerror=\"alert(2)\">&amp;"


class Page(HTMLParser):
    """The tags of a page, and the texts outside of its style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] != "style":
            self.texts.append(data)


def assert_harmless(html: str, *texts: str) -> None:
    """Fail unless the page has only our tags, is well-formed and shows these texts."""
    page = Page(html)
    ours = {"div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "br", "p"}
    assert {tag for tag, _ in page.tags} <= ours
    assert {name for _, each in page.tags for name in each} <= {"class", "scope"}
    assert page.open == []
    for text in texts:
        assert any(text in each for each in page.texts), text


def hostile_pod() -> object_pb2.Object:
    metadata = {"name": HOSTILE, "labels": {HOSTILE: HOSTILE}, "creationTimestamp": None}
    return object_pb2.Object(
        namespace=HOSTILE,
        name=HOSTILE,
        uid=HOSTILE,
        resource_version=HOSTILE,
        json=json.dumps({"metadata": metadata, HOSTILE: "s3cret"}).encode(),
    )


def test_an_object_with_markup_is_shown_as_text() -> None:
    kind = Resource("", "v1", HOSTILE, "pods", namespaced=True)
    html = Object(hostile_pod(), kind)._repr_html_()
    assert_harmless(html, f"{HOSTILE} {HOSTILE}/{HOSTILE}", f"{HOSTILE}={HOSTILE}")
    assert "s3cret" not in html


def test_the_error_of_an_object_with_markup_is_shown_as_text() -> None:
    unreadable = object_pb2.Object(name="web", error=Status(message=HOSTILE))
    assert_harmless(Object(unreadable, Resource.from_message(PODS))._repr_html_(), HOSTILE)


def test_a_list_with_markup_is_shown_as_text(service: FakeService) -> None:
    service.objects = [hostile_pod(), object_pb2.Object(name="b", error=Status(message=HOSTILE))]
    service.namespaces = [HOSTILE]
    with Client(service.address) as client:
        pods = client.list("pods")
        pods._first.warnings.append(HOSTILE)
        assert_harmless(pods._repr_html_(), HOSTILE)
        assert Page(pods._repr_html_()).texts.count(HOSTILE) == 4  # names, error, warning


def test_a_table_with_markup_is_shown_as_text(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.objects = [hostile_pod()]
    with Client(service.address) as client:
        table = client.table("pods")
    first = table_pb2.GetTableResponse(
        resource=object_pb2.Resource(plural=HOSTILE, namespaced=True),
        columns=[table_pb2.TableColumn(name=HOSTILE)],
        rows=[table_pb2.TableRow(namespace=HOSTILE, cells=[Value(string_value=HOSTILE)])],
        warnings=[HOSTILE],
    )
    hostile = type(table)(table._transport, table._request, first, None)
    assert_harmless(hostile._repr_html_(), HOSTILE)
    assert Page(hostile._repr_html_()).texts.count(HOSTILE) == 4  # heading, cells, warning


def shown(html: str) -> list[str]:
    return Page(html).texts


def listed(service: FakeService, *objects: object_pb2.Object) -> list[str]:
    service.objects = list(objects)
    with Client(service.address) as client:
        return shown(client.list("pods")._repr_html_())


def test_a_list_shows_only_columns_with_values(service: FakeService) -> None:
    assert listed(service, pod("a")) == [
        "1 pods at version 1000",
        *("namespace", "name", "demo", "a"),
    ]
    assert listed(service, pod("n1", namespace="")) == ["1 pods at version 1000", "name", "n1"]
    assert listed(service) == ["0 pods at version 1000"]


def test_a_list_shows_creation_times_errors_and_warnings(service: FakeService) -> None:
    created = pod("a")
    created.json = b'{"metadata":{"creationTimestamp":"2026-01-02T12:31:07Z"}}'
    unreadable = object_pb2.Object(name="b", error=Status(message="cannot decode b"))
    service.objects = [created, unreadable]
    with Client(service.address) as client:
        html = client.list("pods", filter="x")._repr_html_()
    assert shown(html) == [
        "2 pods at version 1000",
        *("namespace", "name", "created", "error"),
        *("demo", "a", "2026-01-02 12:31:07 UTC"),
        *("b", "cannot decode b"),
        "2 left out",
    ]


def test_a_table_shows_how_many_rows_it_has(service: FakeService) -> None:
    service.objects = [pod(f"p{index}") for index in range(MAX_ROWS + 1)]
    with Client(service.address) as client:
        (caption, *_) = shown(client.table("pods")._repr_html_())
        assert caption == f"{MAX_ROWS + 1} pods, of which {MAX_ROWS} are shown"
        (caption, *_) = shown(client.table("pods", page_size=2)._repr_html_())
        assert caption == "2+ pods, of which 2 are shown"
        service.objects = service.objects[:2]
        (caption, *_) = shown(client.table("pods")._repr_html_())
        assert caption == "2 pods"


def test_numbers_are_aligned_to_the_right() -> None:
    rows: list[list[Any]] = [["a", 1, True, 1], ["b", None, False, "x"]]
    page = Page(html_table("t", ["name", "count", "ready", "mixed"], rows))
    cells = [each.get("class") for tag, each in page.tags if tag in ("th", "td")]
    assert cells == [None, "number", None, None] * 3


def test_each_element_of_a_tuple_has_a_line() -> None:
    html = html_properties("t", [("labels", ("a=<b>", "c=d")), ("none", None)])
    assert "<td>a=&lt;b&gt;<br>c=d</td>" in html
    assert "<td></td>" in html


def test_times_are_shown_with_their_zone() -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)
    assert shown(html_table("t", ["at"], [[noon]])) == ["t", "at", "2026-01-02 12:00:00 UTC"]


def test_columns_without_values_are_removed() -> None:
    rows: list[list[object]] = [[None, "a", ""], ["", "b", 1]]
    assert without_empty(["x", "y", "z"], rows) == (["y", "z"], [["a", ""], ["b", 1]])
    assert without_empty(["x"], []) == ([], [])


def test_nothing_is_fetched_for_a_page(service: FakeService) -> None:
    service.objects = [pod("a"), pod("b")]
    with Client(service.address) as client:
        client.list("pods", page_size=1)._repr_html_()
        client.table("pods", page_size=1)._repr_html_()
    requests = [type(each) for each in service.requests]
    assert requests == [read_pb2.ListRequest, table_pb2.GetTableRequest]
