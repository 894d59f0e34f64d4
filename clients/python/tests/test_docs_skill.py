"""Tests of what the package has for coding assistants: SKILL.md and llms.txt."""

import json
import re
from importlib.resources import files
from pathlib import Path

import grpc
import pytest
import yaml

from kubeconnect import Forbidden, NotFound
from kubeconnect.v1 import watch_pb2, write_pb2
from tests import live
from tests.cluster_service import serve_cluster
from tests.fake import Failure, FakeService, Silence, event, of_watch, pod
from tests.programs import HERE, WEB, programs_of, run, run_until, type_errors

SKILL = files("kubeconnect").joinpath("SKILL.md").read_text()
LLMS = files("kubeconnect").joinpath("llms.txt").read_text()
REPOSITORY = re.compile(
    r"https://github\.com/kubeconnect/kubeconnect/(?:blob|tree)/main/([^)#\s]+)"
)
PROGRAMS = programs_of(SKILL)
FIRST = programs_of(LLMS)["kubeconnect for Python"]

RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
ADDED = event(watch_pb2.EVENT_TYPE_ADDED, WEB, "7")
CONFLICT = "read it again: it has changed\n"
GONE = Failure(grpc.StatusCode.NOT_FOUND)


def test_each_program_passes_mypy_strict(tmp_path: Path) -> None:
    programs = [program for found in PROGRAMS.values() for program in found]
    assert len(programs) == 14
    assert not type_errors([*programs, *FIRST], tmp_path)


@pytest.mark.parametrize(
    ("program", "prints"),
    [
        pytest.param(PROGRAMS["Read"][0], "web n1 {}\n{'nodeName': 'n1'}\n", id="read"),
        pytest.param(
            PROGRAMS["Select in the service"][0], "demo web None\n2 left out\nw 1\n", id="select"
        ),
        pytest.param(PROGRAMS["Logs"][0], "one\ntwo\n", id="logs"),
        pytest.param(PROGRAMS["Typed objects"][0], "web n1 None\n", id="typed"),
        pytest.param(PROGRAMS["asyncio"][0], "web\n1\n", id="asyncio"),
        pytest.param(PROGRAMS["Test"][0], "", id="test"),
        pytest.param(PROGRAMS["Test"][1], "", id="fake"),
        pytest.param(PROGRAMS["Test"][2], "", id="controller"),
        pytest.param(FIRST[0], "web n1\n", id="llms.txt"),
    ],
)
def test_program_runs(
    demo: FakeService, capsys: pytest.CaptureFixture[str], program: str, prints: str
) -> None:
    run(program, demo)
    assert capsys.readouterr().out == prints


def test_an_absent_object_is_reported(
    demo: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.objects = []
    run(PROGRAMS["Read"][0], demo)
    assert capsys.readouterr().out == 'pods "web" not found\n'


@pytest.mark.parametrize("conflict", [False, True])
def test_objects_are_changed(
    demo: FakeService, capsys: pytest.CaptureFixture[str], conflict: bool
) -> None:
    demo.objects = [pod("settings")]
    demo.conflict = conflict
    run(PROGRAMS["Change"][0], demo)
    assert capsys.readouterr().out == "settings old\n" + CONFLICT * conflict


def test_a_store_follows(demo: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    demo.play([RESET, ADDED, SYNCED])
    printed: list[str] = []

    def has_added() -> bool:
        printed.append(capsys.readouterr().out)
        return "added web" in "".join(printed)

    with pytest.raises(NotFound):
        run_until(has_added, lambda: demo.play(GONE), PROGRAMS["Follow changes"][0], demo)
    assert "".join(printed) == "1 web\nadded web\n"


def test_a_watch_follows(demo: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    deleted = event(watch_pb2.EVENT_TYPE_DELETED, pod("unknown"), "8")
    demo.play([RESET, ADDED, deleted, SYNCED], GONE)
    with pytest.raises(NotFound):
        run(PROGRAMS["Follow changes"][1], demo)
    assert capsys.readouterr().out == "synced 1\n"


def test_pages_and_counts_follow(demo: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    first = live.placed(watch_pb2.EVENT_TYPE_ADDED, "a")
    cpu = live.total(0.5, "0.5")
    group = live.group("n1", 2)
    group.aggregates.append(cpu)
    counts = live.counts("5", group, reset=True)
    counts.aggregates.append(cpu)
    demo.play(live.page("t1", RESET, first, SYNCED, state=live.state(7)), Silence())
    demo.play(counts, GONE)
    with pytest.raises(NotFound):
        run(PROGRAMS["Follow changes"][2], demo)
    assert capsys.readouterr().out == "7 a\nn1 2 0.5\n"


def test_a_rollout_is_waited_for(demo: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    web = pod("web", spec={"replicas": 0})
    web.json = web.json.replace(b'"Pod"', b'"Deployment"')
    demo.play(of_watch(0, "t1", RESET, event(watch_pb2.EVENT_TYPE_ADDED, web, "7")), Silence())
    run(PROGRAMS["Wait"][0], demo)
    assert capsys.readouterr().out == "rolled out\n"


def test_an_operator_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_cluster() as service:
        monkeypatch.setenv("KUBECONNECT_ADDRESS", service.address)
        service.store("websites", "web", spec={"image": "nginx"})

        def applied() -> list[write_pb2.PatchRequest]:
            found = [each for each in service.requests if isinstance(each, write_pb2.PatchRequest)]
            return [each for each in found if each.type == write_pb2.PATCH_TYPE_APPLY]

        def end() -> None:
            service.end_watches(Failure(grpc.StatusCode.PERMISSION_DENIED))

        with pytest.raises(Forbidden):
            run_until(lambda: bool(applied()), end, PROGRAMS["Operators"][0], service)
    assert json.loads(applied()[0].data)["metadata"]["ownerReferences"][0]["name"] == "web"


def test_the_skill_has_the_common_front_matter() -> None:
    _, front, _ = SKILL.split("---\n", 2)
    fields = yaml.safe_load(front)
    assert fields.keys() == {"name", "description"}
    assert fields["name"] == "kubeconnect"
    assert len(fields["description"]) <= 1024


def test_llms_txt_has_the_common_structure() -> None:
    first, _, rest = LLMS.partition("\n\n")
    summary, _, rest = rest.partition("\n\n")
    assert first == "# kubeconnect for Python"
    assert re.fullmatch("> .+", summary)
    for section in rest.split("\n## ")[1:]:
        _, _, links = section.partition("\n\n")
        assert all(re.match(r"- \[.+\]\(https://.+\): ", line) for line in links.splitlines())


@pytest.mark.parametrize("text", [SKILL, LLMS, (HERE / "README.md").read_text()])
def test_links_lead_to_files_of_the_repository(text: str) -> None:
    for path in REPOSITORY.findall(text):
        assert (HERE.parents[1] / path).exists(), path
