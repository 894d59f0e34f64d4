"""Tests of the generated types, with schemas of a real API server and of custom resources.

data/schemas.json has schemas of Kubernetes 1.37, with short descriptions.
"""

import ast
import json
import random
import re
from pathlib import Path
from typing import Any

import grpc
import mypy.api
import pytest

from kubeconnect import Resource, SchemaResult
from kubeconnect.types import main, typed_dicts
from tests.fake import Failure, FakeService

DATA = json.loads((Path(__file__).parent / "data/schemas.json").read_text())
RESULTS = [
    SchemaResult(
        Resource(*each["resource"]),
        {**each["schema"], "components": {"schemas": DATA["components"]}},
    )
    for each in DATA["results"]
]
KINDS = {each.resource.kind: each for each in RESULTS}


def custom(**properties: Any) -> SchemaResult:
    """Return the schema of a custom resource."""
    schema = {"type": "object", "description": "A backup.", "properties": properties}
    return SchemaResult(Resource("example.com", "v1", "Backup", "backups", True), schema)


def types_of(code: str, name: str = "Backup") -> dict[str, Any]:
    """Return the types of a TypedDict by its keys, as text."""
    namespace: dict[str, Any] = {}
    exec(compile(code, "types.py", "exec"), namespace)
    hints = {}
    for key, hint in namespace[name].__annotations__.items():
        hints[key] = ast.unparse(ast.parse(hint.__forward_arg__)).replace("'", '"')
    return hints


def check(path: Path, program: str) -> list[str]:
    """Return the lines and codes of the errors that mypy reports of a program."""
    (path / "program.py").write_text(program)
    output, problem, _ = mypy.api.run(["--strict", "--config=", str(path / "program.py")])
    assert not problem
    errors = re.findall(r"(\w+)\.py:(\d+): error: .*\[([\w-]+)\]$", output, re.MULTILINE)
    return [f"{file} {line} {code}" for file, line, code in errors]


@pytest.mark.parametrize("total", [False, True])
def test_the_types_of_built_in_kinds_pass_mypy(tmp_path: Path, total: bool) -> None:
    assert check(tmp_path, typed_dicts(RESULTS, total=total)) == []


def test_mypy_checks_the_use_of_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cluster.py").write_text(typed_dicts(RESULTS))
    monkeypatch.setenv("MYPYPATH", str(tmp_path))
    program = """\
from cluster import Backup, CoreV1Event, IPBlock, JSONSchemaProps
def use(event: CoreV1Event, block: IPBlock, schema: JSONSchemaProps, backup: Backup) -> None:
    text: str = event["involvedObject"]["name"]
    text = event["reasn"]
    text = event["count"]
    blocks: list[str] = block["except"]
    text = schema["properties"]["a"]["description"]
    number: int = backup["spec"]["schedule"]
    optional: str = backup.get("kind")
empty: IPBlock = {"except": []}
full: IPBlock = {"cidr": "10.0.0.0/8"}
backup: Backup = {"spec": {"schedule": "sometimes"}}
"""
    assert check(tmp_path, program) == [
        "program 4 typeddict-item",
        "program 5 assignment",
        "program 8 assignment",
        "program 9 assignment",
        "program 10 typeddict-item",
        "program 12 typeddict-item",
    ]


def test_types_of_one_name_are_named_with_group_and_version() -> None:
    code = typed_dicts(RESULTS)
    assert "class CoreV1Event(TypedDict, total=False):" in code
    assert "class EventsV1Event(TypedDict, total=False):" in code
    assert "class NetworkPolicy(TypedDict, total=False):" in code
    assert "class Event(" in typed_dicts([RESULTS[0]])


def test_a_type_is_written_once() -> None:
    names = [
        line.split("(")[0] for line in typed_dicts(RESULTS).splitlines() if line[:6] == "class "
    ]
    assert len(names) == len(set(names))


def test_the_output_does_not_depend_on_the_order_of_keys() -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return value

    results = [SchemaResult(each.resource, turned(each.schema)) for each in RESULTS]
    assert typed_dicts(results) == typed_dicts(RESULTS)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "str"),
        ({"type": "string", "format": "date-time"}, "str"),
        ({"type": "integer", "format": "int64"}, "int"),
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": "string", "nullable": True}, "str | None"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"type": "array", "items": {"type": "integer"}}, "list[int]"),
        ({"type": "array"}, "list[Any]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "dict[str, str]"),
        ({"type": "object", "additionalProperties": True}, "dict[str, Any]"),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "dict[str, Any]"),
        ({"x-kubernetes-preserve-unknown-fields": True}, "Any"),
        ({"x-kubernetes-preserve-unknown-fields": True, "nullable": True}, "Any"),
        ({}, "Any"),
        ({"x-kubernetes-int-or-string": True}, "int | str"),
        (
            {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
                "pattern": "x",
            },
            "int | str",
        ),
        ({"format": "int-or-string", "oneOf": [{"type": "integer"}]}, "int | str"),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, "str | float"),
        ({"oneOf": [{"type": "string"}, {}]}, "Any"),
        ({"type": "string", "enum": ["a", 'b"', "c'"]}, """Literal["a", 'b"', "c'"]"""),
        ({"type": "integer", "enum": [1, 2]}, "Literal[1, 2]"),
        ({"type": "string", "enum": ["a", None]}, 'Literal["a"] | None'),
        ({"type": "string", "enum": ["a", None], "nullable": True}, 'Literal["a"] | None'),
        ({"type": "number", "enum": [0.5]}, "float"),
        ({"type": "string", "enum": []}, "str"),
        ({"allOf": [{"type": "string"}], "default": ""}, "str"),
        ({"allOf": [{"type": "string"}, {"type": "string"}]}, "Any"),
        ({"type": "object", "properties": {"a": {}}}, "BackupSpec"),
        ({"properties": {"a": {}}}, "BackupSpec"),
        (
            {"type": "array", "items": {"type": "object", "properties": {"a": {}}}},
            "list[BackupSpecItem]",
        ),
        (
            {"type": "object", "additionalProperties": {"properties": {"a": {}}}},
            "dict[str, BackupSpecValue]",
        ),
        ({"$ref": "#/components/schemas/none"}, "Any"),
    ],
)
def test_the_type_of_a_schema(schema: dict[str, Any], expected: str, tmp_path: Path) -> None:
    code = typed_dicts([custom(spec=schema)])
    expected_text = ast.unparse(ast.parse(expected)).replace("'", '"')
    assert types_of(code)["spec"] == expected_text


def test_names_that_are_not_identifiers_are_keys(tmp_path: Path) -> None:
    names = ["from", "$ref", "a-b", "__x", "int", "Backup", "ﬁ", "", 'quote"', "\n", "ok"]
    result = custom(**{name: {"type": "string"} for name in names})
    code = typed_dicts([result])
    assert types_of(code).keys() == set(names)
    assert check(tmp_path, code) == []


def test_classes_have_unique_names(tmp_path: Path) -> None:
    inner = {"type": "object", "properties": {"x": {"type": "string"}}}
    result = custom(**{"a-b": inner, "aB": inner, "0": inner, "any": {"properties": {"a": {}}}})
    code = typed_dicts([result, result])
    assert re.findall(r"^class (\w+)|^(\w+) = ", code, re.MULTILINE)
    assert types_of(code) == {
        "0": "BackupType0",
        "aB": "BackupAB2",
        "a-b": "BackupAB",
        "any": "BackupAny",
    }
    assert check(tmp_path, code) == []


def test_schemas_may_refer_to_themselves(tmp_path: Path) -> None:
    components = {
        "com.example.Node": {
            "type": "object",
            "properties": {
                "next": {"$ref": "#/components/schemas/com.example.Node"},
                "value": {"$ref": "#/components/schemas/com.example.Loop"},
            },
        },
        "com.example.Loop": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/com.example.Loop"},
        },
    }
    result = custom(spec={"$ref": "#/components/schemas/com.example.Node"})
    result.schema["components"] = {"schemas": components}
    code = typed_dicts([result])
    assert types_of(code, "Node") == {"next": "Node", "value": "list[Any]"}
    assert check(tmp_path, code) == []


HOSTILE = [
    '""" + print("x") + """',
    'ends with "',
    "ends with a backslash \\",
    '\\"""',
    "\x00\r\n\x0b\u2028# x",
    '"' * 7,
    "",
    " ",
    "x" * 300,
    'x"\u200b',
]


@pytest.mark.parametrize("name", ["plain", "no-name"])
def test_a_description_is_only_a_description(name: str, tmp_path: Path) -> None:
    modules: list[str] = []
    for text in HOSTILE:
        schema = {"type": "string", "description": text, "enum": [text or "a"]}
        result = custom(**{name: schema, "spec": {"properties": {"a": {}}, "description": text}})
        result.schema["description"] = text
        code = typed_dicts([result])
        assert types_of(code).keys() == {name, "spec"}
        statements = {type(each) for each in ast.parse(code).body}
        assert statements <= {ast.ImportFrom, ast.Expr, ast.ClassDef, ast.Assign}
        modules.append(
            re.sub(r"\bBackup", f"Backup{len(modules)}", code).partition("annotations")[2]
        )
    assert check(tmp_path, "from __future__ import annotations\n" + "\n".join(modules)) == []


def hostile_text(choose: random.Random) -> str:
    """Return a text of characters that mean something in Python, or cannot be shown."""
    characters = [
        '"',
        "'",
        "\\",
        "\n",
        "\r",
        "\0",
        "\u200b",
        "\u2028",
        "\ufeff",
        "\x0c",
        " ",
        "a",
        "#",
        "{",
    ]
    return "".join(choose.choices(characters, k=choose.randrange(9)))


@pytest.mark.parametrize("seed", range(4))
def test_any_text_of_a_schema_gives_valid_code(seed: int) -> None:
    choose = random.Random(seed)
    properties: dict[str, Any] = {}
    for number in range(200):
        name = choose.choice([f"plain{number}", f"no-name{number}"])
        key = choose.choice(["a", "b-c", "class", "None"]) + hostile_text(choose)
        properties[name] = {
            "type": "object",
            "description": hostile_text(choose),
            "properties": {
                key: {"description": hostile_text(choose)},
                "value": {"enum": [hostile_text(choose)], "description": hostile_text(choose)},
            },
        }
    result = custom(**properties)
    result.schema["description"] = hostile_text(choose)
    code = typed_dicts([result])
    assert types_of(code).keys() == properties.keys()
    statements = {type(each) for each in ast.parse(code).body}
    assert statements <= {ast.ImportFrom, ast.Expr, ast.ClassDef, ast.Assign}


@pytest.mark.parametrize("kind", ["None", "True", "False", "Class", "Type"])
def test_a_kind_may_be_named_as_a_keyword(kind: str) -> None:
    result = custom(spec={"type": "string"})
    named = SchemaResult(Resource("example.com", "v1", kind, "things", True), result.schema)
    compile(typed_dicts([named]), "types.py", "exec")


def test_code_that_is_not_valid_is_never_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._typed_dicts._docstring", lambda text: ['    """x""""\n'])
    with pytest.raises(SyntaxError):
        typed_dicts([custom(spec={"type": "string"})])


def test_all_keys_are_required_with_total() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
    code = typed_dicts([custom(spec=schema)])
    assert types_of(code, "BackupSpec") == {"a": "Required[Any]", "b": "Any"}
    code = typed_dicts([custom(spec=schema)], total=True)
    assert types_of(code, "BackupSpec") == {"a": "Any", "b": "Any"}
    assert "total=False" not in code
    assert "Required" not in code


def test_a_kind_without_fields_is_a_type(tmp_path: Path) -> None:
    result = SchemaResult(KINDS["Backup"].resource, {"type": "object"})
    assert check(tmp_path, typed_dicts([result])) == []


def test_the_command_writes_the_types(
    service: FakeService, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["pods", "po", "--address", service.address]) == 0
    output = capsys.readouterr().out
    assert output.count("class Pod(TypedDict, total=False):") == 1
    assert [request.resource for request in service.requests] == ["pods", "po"]
    assert check(tmp_path, output) == []


def test_the_command_writes_the_types_of_all_resources(
    service: FakeService, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("t1")
    service.tokens = {"t1"}
    arguments = ["--all", "--total", "--address", service.address, "--token-file", str(token)]
    assert main(arguments) == 0
    assert "class Pod(TypedDict):" in capsys.readouterr().out


def test_the_command_reports_errors(
    service: FakeService, capsys: pytest.CaptureFixture[str]
) -> None:
    service.failure = Failure(grpc.StatusCode.NOT_FOUND, "no such resource")
    assert main(["pods", "--address", service.address]) == 1
    assert capsys.readouterr().err == "python -m kubeconnect.types: no such resource\n"
    service.failure = Failure(grpc.StatusCode.NOT_FOUND, "no such \x1b[2Jresource")
    assert main(["pods", "--address", service.address]) == 1
    assert capsys.readouterr().err == "python -m kubeconnect.types: no such \\x1b[2Jresource\n"
    assert main(["--all", "--address", service.address]) == 1


@pytest.mark.parametrize("arguments", [[], ["pods", "--all"]])
def test_the_command_needs_resources(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
