"""The README's programs run as they stand there."""

import re
from pathlib import Path

import pytest

from kubeconnect import Unavailable
from kubeconnect.v1 import resource_service_pb2 as pb
from tests.fake import End, FakeService, event, pod

README = Path(__file__).parents[1] / "README.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
READ, WATCH, PATCH, ASYNCIO, ERRORS = PROGRAMS


def run(program: str, service: FakeService) -> None:
    service.objects = [pod("web", spec={"nodeName": "n1"})]
    exec(program.replace("http://127.0.0.1:8080", service.address), {})


@pytest.mark.parametrize(
    ("program", "prints"),
    [
        pytest.param(READ, "web n1\n1 pods at version 1000\ndemo web\n", id="read"),
        pytest.param(PATCH, "7 old\n", id="patch"),
        pytest.param(ASYNCIO, "demo web\n", id="asyncio"),
        pytest.param(ERRORS, 'pods "nobody" not found\n', id="errors"),
    ],
)
def test_program_runs(
    service: FakeService, capsys: pytest.CaptureFixture[str], program: str, prints: str
) -> None:
    run(program, service)
    assert capsys.readouterr().out == prints


def test_watch_runs_until_the_stream_is_lost(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    service.play(
        [
            event(pb.EVENT_TYPE_RESET, None, ""),
            event(pb.EVENT_TYPE_ADDED, pod("a"), "7"),
            event(pb.EVENT_TYPE_ADDED, pod("b"), "8"),
            event(pb.EVENT_TYPE_DELETED, pod("b"), "9"),
            event(pb.EVENT_TYPE_SYNCED, None, "9"),
        ],
        End(),
    )
    with pytest.raises(Unavailable):
        run(WATCH, service)
    assert capsys.readouterr().out == "holding 1 pods\n"
