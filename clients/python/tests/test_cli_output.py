"""Tests of tables, names and progress."""

from __future__ import annotations

import io

import pytest

from kubeconnect import Resource
from kubeconnect._cli._objects import as_yaml, object_name
from kubeconnect._cli._progress import progress
from kubeconnect._cli._tables import AlignedTable, cell_text


def test_later_rows_keep_the_widths_of_earlier_ones() -> None:
    table = AlignedTable(["NAME", "STATUS"])
    assert table.lines([("a-long-name", "Running")]) == [
        "NAME          STATUS\n",
        "a-long-name   Running\n",
    ]
    assert table.lines([("b", "Terminating")]) == ["b             Terminating\n"]
    assert table.lines([("a-longer-name", "")]) == ["a-longer-name\n"]
    assert AlignedTable(["NAME"], headers=False).lines([["a"]]) == ["a\n"]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (None, "<none>"),
        ("", ""),
        (3, "3"),
        (0.5, "0.5"),
        (True, "true"),
        (["a", 1], '["a", 1]'),
        ("Grüße", "Grüße"),
        ("one\n", "one"),
        ("one\ntwo", "one..."),
        ("tab\tbell\x07\u202e", "tab\\tbell\\x07\\u202e"),
    ],
)
def test_cells_are_texts_of_one_line(cell: object, expected: str) -> None:
    assert cell_text(cell) == expected


def test_names_have_the_group() -> None:
    assert object_name(Resource("", "v1", "Pod", "pods", True), "web") == "pod/web"
    crontab = Resource("stable.example.com", "v1", "CronTab", "crontabs", True)
    assert object_name(crontab, "web") == "crontab.stable.example.com/web"


def test_yaml_repeats_equal_values() -> None:
    shared = {"a": "b"}
    assert as_yaml({"x": shared, "y": shared}) == "x:\n  a: b\ny:\n  a: b\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_and_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setattr("kubeconnect._cli._progress._QUIET_SECONDS", 0.0)
    monkeypatch.setattr("kubeconnect._cli._progress._INTERVAL_SECONDS", 0.0)
    assert list(progress(range(1001), "pods", 2000)) == list(range(1001))
    assert "\r\x1b[K1,001 of 2,000 pods ..." in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_progress_of_a_short_list_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]
) -> None:
    monkeypatch.setattr("sys.stderr", errors := stream())
    monkeypatch.setattr("kubeconnect._cli._progress._QUIET_SECONDS", 1e9)
    assert list(progress(["a"], "pods")) == ["a"]
    assert errors.getvalue() == ""
