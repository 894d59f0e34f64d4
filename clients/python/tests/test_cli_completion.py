"""Tests of the completion of words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli_service import CliService, complete, run, serve_cli
from tests.fake import pod


@pytest.fixture
def service() -> Iterator[CliService]:
    with serve_cli() as service:
        service.objects = [pod("web-0", namespace="default"), pod("web-1", namespace="default")]
        yield service


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("c", ["count", "cordon", "can-i", "completion"]),
        ("get p", ["pods"]),
        ("get pods ", ["web-0", "web-1"]),
        ("get pods web-0 ", ["web-1"]),
        ("get pod/web-0 no", ["nodes"]),
        ("get pod/", ["pod/web-0", "pod/web-1"]),
        ("logs ", ["web-0", "web-1"]),
        ("cordon ", ["web-0", "web-1"]),
        ("get pods -n ", ["web-0", "web-1"]),
        ("can-i get dep", ["deployments"]),
        ("get pods --field", ["--field-selector"]),
        ("get pods -o j", ["json", "jsonl"]),
        ("get pods -o c", ["custom-columns="]),
        ("completion z", ["zsh"]),
    ],
)
def test_words_are_completed(service: CliService, words: str, expected: list[str]) -> None:
    assert complete(service, words) == expected


def test_names_are_completed_in_the_namespace(service: CliService) -> None:
    complete(service, "-n shop get pods web-")
    request = service.requests[-1]
    assert request.namespace == "shop"
    assert request.filter == 'object.metadata.name.startsWith("web-")'
    assert request.page_size == 500


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(service: CliService, shell: str) -> None:
    script = run(service, "completion", shell).output
    assert f"_KUBECONNECT_COMPLETE={shell}_complete" in script
