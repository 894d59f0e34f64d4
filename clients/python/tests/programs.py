"""The programs of the documentation, which tests check and run."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fake import FakeService, pod
from tests.sync.waiting import eventually

HERE = Path(__file__).parents[1]
ADDRESS = "http://127.0.0.1:8080"
WEB = pod("web", spec={"nodeName": "n1"})

PARTS = re.compile(
    r"^#+ (?P<heading>[^\n]*)|^```(?P<language>\w*)\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE
)


def programs_of(text: str) -> dict[str, list[str]]:
    """Return the Python programs below each heading of a Markdown text."""
    programs: dict[str, list[str]] = {}
    section: list[str] = []
    for part in PARTS.finditer(text):
        if part["heading"]:
            section = programs.setdefault(part["heading"], [])
        elif part["language"] == "python":
            section.append(part["code"])
    return programs


def run(program: str, service: FakeService) -> None:
    """Run a program against the service."""
    exec(program.replace(ADDRESS, service.address), {"__name__": "__main__"})


def run_until(
    condition: Callable[[], bool], end: Callable[[], None], program: str, service: FakeService
) -> None:
    """Run a program that ends only when its service ends it, which happens at the condition."""

    def wait() -> None:
        eventually(condition)
        end()

    with ThreadPoolExecutor(1) as threads:
        ended = threads.submit(wait)
        run(program, service)
        ended.result(10)


def type_errors(programs: Iterable[str], folder: Path) -> str:
    """Return the errors of ``mypy --strict`` in the programs; "" if there are none."""
    paths = [folder / f"program{number}.py" for number, _ in enumerate(programs)]
    for path, program in zip(paths, programs, strict=True):
        path.write_text(program)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=pyproject.toml"]
    checked = subprocess.run([*mypy, *map(str, paths)], cwd=HERE, capture_output=True, text=True)
    return "" if checked.returncode == 0 else checked.stdout + checked.stderr
