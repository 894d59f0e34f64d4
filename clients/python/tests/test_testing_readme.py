"""Tests that run the program of the README about the fake service."""

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"
SECTION = README.read_text().split("\n## Testing your programs\n")[1].split("\n## ")[0]
(PROGRAM,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
NAMES = re.findall(r"^def (test_\w+)", PROGRAM, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_passes(name: str) -> None:
    program: dict[str, Any] = {}
    exec(PROGRAM, program)
    program[name]()


def test_there_are_tests() -> None:
    assert len(NAMES) == 3


def test_names_the_methods_of_the_fake_service() -> None:
    from kubeconnect.testing import FakeService

    rows = re.findall(r"^\| (`.*?) \|", SECTION, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    methods = {name for name in vars(FakeService) if not name.startswith("_")}
    assert named == methods - {"address", "client"}
