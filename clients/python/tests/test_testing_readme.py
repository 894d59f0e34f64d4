"""Tests that run the programs of the README about the fake service."""

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"
SECTION = README.read_text().split("\n## Testing your programs\n")[1].split("\n## ")[0]
PROGRAMS = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
TESTS = [
    pytest.param(program, name, id=name)
    for program in PROGRAMS
    for name in re.findall(r"^def (test_\w+)", program, re.MULTILINE)
]


@pytest.mark.parametrize(("program", "name"), TESTS)
def test_passes(program: str, name: str) -> None:
    names: dict[str, Any] = {}
    exec(program, names)
    names[name]()


def test_there_are_tests() -> None:
    assert len(TESTS) == 4


def test_names_the_methods_of_the_fake_service() -> None:
    from kubeconnect.testing import FakeService

    rows = re.findall(r"^\| (`.*?) \|", SECTION, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    methods = {name for name in vars(FakeService) if not name.startswith("_")}
    assert named == methods - {"address", "client"}
