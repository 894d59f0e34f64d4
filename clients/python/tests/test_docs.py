"""Tests of the reference, which pdoc makes of the docstrings."""

import subprocess
import sys
from pathlib import Path

import pytest

import kubeconnect
from kubeconnect import aio

HERE = Path(__file__).parents[1]


def run(*arguments: str | Path) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the reference, which fails if pdoc warns."""
    folder = tmp_path_factory.mktemp("reference")
    run("reference.py", folder)
    return folder


def test_the_reference_has_every_public_name(reference: Path) -> None:
    assert not missing(kubeconnect.__all__, reference / "kubeconnect.html")
    assert not missing(aio.__all__, reference / "kubeconnect/aio.html")


def test_the_reference_has_inherited_calls(reference: Path) -> None:
    calls = [f"Client.{name}" for name in dir(kubeconnect.Client) if not name.startswith("_")]
    assert not missing(calls, reference / "kubeconnect.html")


def missing(names: list[str], page: Path) -> list[str]:
    html = page.read_text()
    return [name for name in names if f'id="{name}"' not in html]


def test_every_public_name_is_explained() -> None:
    assert run("-m", "tests.undocumented") == ""
