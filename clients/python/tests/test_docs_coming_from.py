"""Tests of docs/coming-from.md: our programs run, and the others are valid Python."""

import ast
import re
from pathlib import Path

import grpc
import pytest

from kubeconnect import Forbidden, NotFound
from kubeconnect.v1 import watch_pb2, write_pb2
from tests.cluster_service import serve_cluster
from tests.fake import Failure, FakeService, Silence, event, of_watch, pod
from tests.programs import HERE, WEB, programs_of, run, run_until, type_errors

PAGE = (HERE / "docs/coming-from.md").read_text()
OTHERS = programs_of(PAGE)
OURS = OTHERS.pop("kubeconnect")
LIST, WATCH, STORE, ROLLOUT, APPLY, LOG, PATCH, OPERATOR, TEST, FAKE = OURS

RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
ADDED = event(watch_pb2.EVENT_TYPE_ADDED, WEB, "7")
GONE = Failure(grpc.StatusCode.NOT_FOUND)
DOCUMENT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


def test_our_programs_pass_mypy_strict(tmp_path: Path) -> None:
    assert not type_errors(OURS, tmp_path)


@pytest.mark.parametrize("client", ["kubernetes", "kr8s", "lightkube", "kopf"])
def test_the_other_programs_are_valid(client: str) -> None:
    assert OTHERS[client]
    for program in OTHERS[client]:
        modules = [
            (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""
            for node in ast.walk(ast.parse(program))
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        assert client in {module.partition(".")[0] for module in modules}


def test_the_contents_lead_to_the_sections() -> None:
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    anchors = [heading.lower().replace(" ", "-") for heading in headings]
    assert re.findall(r"\]\(#(.+?)\)", PAGE) == anchors


@pytest.mark.parametrize(
    ("program", "prints"),
    [
        pytest.param(LIST, "web n1\n", id="list"),
        pytest.param(LOG, "one\ntwo\n", id="log"),
        pytest.param(PATCH, "7\n", id="patch"),
        pytest.param(TEST, "", id="test"),
        pytest.param(FAKE, "", id="fake"),
    ],
)
def test_program_runs(
    demo: FakeService, capsys: pytest.CaptureFixture[str], program: str, prints: str
) -> None:
    run(program, demo)
    assert capsys.readouterr().out == prints


def test_a_file_is_applied(
    demo: FakeService,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.yaml").write_text(DOCUMENT)
    run(APPLY, demo)
    assert capsys.readouterr().out == "settings created\n"


def test_a_watch_follows(demo: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    deleted = event(watch_pb2.EVENT_TYPE_DELETED, WEB, "8")
    demo.play([RESET, ADDED, SYNCED, deleted], GONE)
    with pytest.raises(NotFound):
        run(WATCH, demo)
    assert capsys.readouterr().out == "RESET 0\nADDED 1\nSYNCED 1\nDELETED 0\n"


def test_a_rollout_is_waited_for(demo: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    web = pod("web", spec={"replicas": 0})
    web.json = web.json.replace(b'"Pod"', b'"Deployment"')
    demo.play(of_watch(0, "t1", RESET, event(watch_pb2.EVENT_TYPE_ADDED, web, "7")), Silence())
    run(ROLLOUT, demo)
    assert capsys.readouterr().out == "rolled out\n"


def test_a_store_follows(demo: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    demo.play([RESET, ADDED, SYNCED])
    printed: list[str] = []

    def has_added() -> bool:
        printed.append(capsys.readouterr().out)
        return "added web" in "".join(printed)

    with pytest.raises(NotFound):
        run_until(has_added, lambda: demo.play(GONE), STORE, demo)
    assert "".join(printed) == "web\nadded web\n"


def test_an_operator_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_cluster() as service:
        monkeypatch.setenv("KUBECONNECT_ADDRESS", service.address)
        service.store("websites", "web", spec={"image": "nginx"})

        def has_applied() -> bool:
            return any(
                isinstance(each, write_pb2.PatchRequest) and b"ownerReferences" in each.data
                for each in service.requests
            )

        def end() -> None:
            service.end_watches(Failure(grpc.StatusCode.PERMISSION_DENIED))

        with pytest.raises(Forbidden):
            run_until(has_applied, end, OPERATOR, service)
