"""Generate the package kubeconnect.k8s from the .proto files of k8s.io/api.

The .proto files are those of the module cache, in the versions of go.mod. Each becomes one
module: ``k8s.io/api/core/v1/generated.proto`` is ``kubeconnect.k8s.core.v1``. A module has
the serialized descriptor of the file. Its stub is written by mypy-protobuf, with the
comments of the file. The Go types have what the .proto files lack: the name of the API
group, and the differences between a message and its JSON form.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

HERE = Path(__file__).resolve().parent
PACKAGE = Path("kubeconnect/k8s")
META = "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta"

# The files of k8s.io/apimachinery that those of k8s.io/api refer to, and their modules.
MACHINERY = {
    "k8s.io/apimachinery/pkg/api/resource": "quantity",
    "k8s.io/apimachinery/pkg/apis/meta/v1": "meta/v1",
    "k8s.io/apimachinery/pkg/runtime": "runtime",
    "k8s.io/apimachinery/pkg/util/intstr": "intstr",
}

_IMPORT = re.compile(r'^import "(.*)/generated.proto";\n', re.MULTILINE)
_GROUP = re.compile(r'^(?:const )?\s*GroupName\s*= "(.*)"', re.MULTILINE)
_LIFECYCLE = re.compile(
    r"^func \(in \*(\w+)\) APILifecycle(\w+)\(\) \(major, minor int\) \{\n\treturn 1, (\d+)",
    re.MULTILINE,
)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\t(?:\w+\s+)?(\S+)\s+`(.*)`", re.MULTILINE)
_JSON_TAG = re.compile(r'json:"([^"]*)"')
_PROTOBUF_TAG = re.compile(r'protobuf:"([^"]*)"')


@dataclass
class GoTypes:
    """What the Go types of a package say about their JSON form."""

    structs: set[str] = field(default_factory=set)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    """The JSON names of fields, by message and field, if they are different; "" if the fields of
    the message are fields of the enclosing object."""
    omitted: set[tuple[str, str]] = field(default_factory=set)
    """The scalar fields whose zero value is omitted."""


@dataclass
class Source:
    """A .proto file, and the module that is generated from it."""

    folder: Path
    origin: str
    """The folder in Go's notation, such as "k8s.io/api/core/v1"."""
    module: str
    """The path of the module in kubeconnect.k8s, such as "core/v1"."""
    group: str | None = None
    """The API group; None if the file is not one of k8s.io/api."""

    @property
    def proto(self) -> str:
        """The name of the file for protoc."""
        return f"{(PACKAGE / self.module).as_posix()}.proto"

    @property
    def name(self) -> str:
        """The full name of the module."""
        return dotted(PACKAGE / self.module)


def outputs() -> dict[Path, bytes]:
    """Return the paths of the generated files and their expected content."""
    versions = module_folders("k8s.io/api", "k8s.io/apimachinery")
    sources = list(read_sources(versions))
    with tempfile.TemporaryDirectory() as out:
        descriptors = compile_sources(sources, Path(out))
        release = versions["k8s.io/api"].name.split("@")[1]
        root = HERE / "src" / PACKAGE
        result = {}
        for source in sources:
            stub = (Path(out) / PACKAGE / f"{source.module}_pb2.pyi").read_text()
            result[root / f"{source.module}.pyi"] = rewrite_stub(stub, source).encode()
            text = module_text(source, descriptors[source.proto], release, descriptors)
            result[root / f"{source.module}.py"] = text.encode()
            if "/" in source.module:
                init = f'"""The messages of the group {Path(source.module).parent}."""\n'
                result[root / Path(source.module).parent / "__init__.py"] = init.encode()
        return result


def existing() -> set[Path]:
    """Return the paths of the generated files that exist."""
    root = HERE / "src" / PACKAGE
    modules = {root / f"{name}.py" for name in MACHINERY.values() if "/" not in name}
    return {path for path in modules if path.exists()} | {
        *root.glob("*.pyi"),
        *root.glob("*/*.py"),
        *root.glob("*/*.pyi"),
    }


def module_folders(*modules: str) -> dict[str, Path]:
    """Return the folders of Go modules, in the versions of go.mod. Downloads missing ones."""
    command = ["go", "mod", "download", "-json", *modules]
    printed = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parents[1]
    ).stdout
    objects = printed.replace("}\n{", "},{")
    return {each["Path"]: Path(each["Dir"]) for each in json.loads(f"[{objects}]")}


def read_sources(folders: dict[str, Path]) -> Iterator[Source]:
    """Yield the .proto files to generate modules from."""
    for origin, module in MACHINERY.items():
        folder = folders["k8s.io/apimachinery"] / origin.removeprefix("k8s.io/apimachinery/")
        yield Source(folder, origin, module)
    api = folders["k8s.io/api"]
    minor = int(api.name.split("@v0.")[1].split(".")[0])
    for proto in sorted(api.glob("*/*/generated.proto")):
        module = proto.parent.relative_to(api).as_posix()
        served = META in proto.read_text() and not is_removed(proto.parent, minor)
        if served and (group := _GROUP.search((proto.parent / "register.go").read_text())):
            yield Source(proto.parent, f"k8s.io/api/{module}", module, group[1])


def is_removed(folder: Path, minor: int) -> bool:
    """Return whether Kubernetes 1.``minor`` does not serve any kind of a group version."""
    path = folder / "zz_generated.prerelease-lifecycle.go"
    found = _LIFECYCLE.findall(path.read_text()) if path.exists() else []
    kinds = {kind for kind, _, _ in found}
    removed = {kind for kind, event, at in found if event == "Removed" and int(at) <= minor}
    return bool(kinds) and kinds == removed


def compile_sources(sources: list[Source], out: Path) -> dict[str, FileDescriptorProto]:
    """Write the stubs, and return the descriptors by the names of the files."""
    modules = {source.origin: source.proto for source in sources}
    for source in sources:
        path = out / source.proto
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rewrite_proto((source.folder / "generated.proto").read_text(), modules))
    plugin = Path(sys.executable).with_name("protoc-gen-mypy")
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={out}"),
            *(f"--plugin=protoc-gen-mypy={plugin}", f"--mypy_out=quiet:{out}"),
            f"--descriptor_set_out={out}/descriptors",
            *(str(out / source.proto) for source in sources),
        ],
        check=True,
        # The plugin's own generated code warns that it is older than the installed protobuf.
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    compiled = FileDescriptorSet.FromString((out / "descriptors").read_bytes())
    descriptors = {file.name: file for file in compiled.file}
    for source in sources:
        add_json_names(descriptors[source.proto], read_go_types(source.folder))
    return descriptors


def rewrite_proto(text: str, modules: dict[str, str]) -> str:
    """Return a .proto file with the paths of this package, without imports that it does not use."""
    code = re.sub(r"//.*", "", text)

    def rewritten(match: re.Match[str]) -> str:
        package = re.escape(match[1].replace("/", "."))
        used = re.search(rf"[ <,.]{package}\.\w+[ >]", code)
        return f'import "{modules[match[1]]}";\n' if used else ""

    return re.sub(r"^option go_package.*\n", "", _IMPORT.sub(rewritten, text), flags=re.MULTILINE)


def rewrite_stub(text: str, source: Source) -> str:
    """Return a stub of mypy-protobuf with the names of the modules of this package."""
    text = re.sub(rf"\b({re.escape(dotted(PACKAGE))}\.[a-z0-9_.]+)_pb2\b", r"\1", text)
    text = text.split('"""', 2)[2].lstrip("\n")  # without its own header
    header = f"# Generated by generate.py from {source.origin}. Do not edit.\n"
    return header + "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def read_go_types(folder: Path) -> GoTypes:
    """Read the Go types of a package."""
    types = GoTypes()
    for path in sorted(folder.glob("*.go")):
        if path.name.startswith(("generated", "zz_generated")) or path.name.endswith("_test.go"):
            continue
        for name, body in _STRUCT.findall(path.read_text()):
            types.structs.add(name)
            for match in _FIELD.finditer(body):
                read_go_field(types, name, match)
    return types


def read_go_field(types: GoTypes, struct: str, match: re.Match[str]) -> None:
    """Read one field of a Go struct."""
    go_type, tags = match[1], match[2]
    json_tag, protobuf = _JSON_TAG.search(tags), _PROTOBUF_TAG.search(tags)
    if not (json_tag and protobuf) or protobuf[1] == "-":
        return
    named = re.search(r"name=(\w+)", protobuf[1])
    embedded = go_type.split(".")[-1]
    message_field = named[1] if named else embedded[0].lower() + embedded[1:]
    json_name, *options = json_tag[1].split(",")
    if json_name != message_field and json_name != "-":
        types.names[struct, message_field] = json_name
    if "omitempty" in options and not go_type.startswith(("*", "[", "map[")):
        types.omitted.add((struct, message_field))


def add_json_names(file: FileDescriptorProto, types: GoTypes) -> None:
    """Put the JSON names of the Go types into a descriptor.

    The names that are protobuf's default are removed.
    """
    for message in file.message_type:
        for each in message.field:
            each.ClearField("json_name")
            name = types.names.get((message.name, each.name))
            if name:
                each.json_name = name


def module_text(
    source: Source,
    file: FileDescriptorProto,
    release: str,
    files: dict[str, FileDescriptorProto],
) -> str:
    """Return the text of a module."""
    types = read_go_types(source.folder)
    arguments = [f"    {literal(file.SerializeToString(deterministic=True))},"]
    if source.group is not None:
        arguments.append(f'    group="{source.group}",')
        arguments.append(f'    version="{Path(source.module).name}",')
        arguments += table("kinds", kinds(file))
    arguments += table("inline", inline(file, types))
    arguments += table("lists", lists(file, types))
    arguments += table("omitted", omitted(file, types))
    imports = sorted(dotted(Path(name).with_suffix("")) for name in file.dependency)
    what = "API group" if source.group is not None else "package"
    return "\n".join(
        [
            f"# Generated by generate.py from {source.origin} {release}. Do not edit.",
            f'"""The messages of the {what} {source.origin.removeprefix("k8s.io/api/")}."""',
            "",
            *(f"import {name}" for name in imports),
            "from kubeconnect.k8s import _build",
            "",
            "DESCRIPTOR = _build.messages(",
            "    globals(),",
            *arguments,
            ")",
            "",
        ]
    )


def kinds(file: FileDescriptorProto) -> list[str]:
    """Return the names of the messages that are kinds: those with metadata that have a list, or
    that no other message contains.
    """
    names = {message.name for message in file.message_type}
    contained = {
        each.type_name.rpartition(".")[2]
        for message in file.message_type
        for each in message.field
        if each.type_name.startswith(f".{file.package}.")
    }
    return [
        message.name
        for message in file.message_type
        if any(each.name == "metadata" and each.type_name == f".{META}" for each in message.field)
        and (f"{message.name}List" in names or message.name not in contained)
    ]


def inline(file: FileDescriptorProto, types: GoTypes) -> list[str]:
    """Return the fields whose content is a part of the enclosing object in JSON."""
    return [
        f"{message.name}.{each.name}"
        for message in file.message_type
        for each in message.field
        if types.names.get((message.name, each.name)) == ""
    ]


def lists(file: FileDescriptorProto, types: GoTypes) -> list[str]:
    """Return the messages that are lists in JSON."""
    return [
        message.name
        for message in file.message_type
        if message.name not in types.structs and [each.name for each in message.field] == ["items"]
    ]


def omitted(file: FileDescriptorProto, types: GoTypes) -> list[str]:
    """Return the scalar fields whose zero value is not in JSON."""
    return [
        f"{message.name}.{each.name}"
        for message in file.message_type
        for each in message.field
        if (message.name, each.name) in types.omitted
        and each.label != FieldDescriptorProto.LABEL_REPEATED
        and each.type != FieldDescriptorProto.TYPE_MESSAGE
    ]


def table(name: str, items: list[str]) -> list[str]:
    """Return the lines of an argument that is a text of names."""
    if not items:
        return []
    lines = textwrap.wrap(" ".join(items), 88, break_long_words=False)
    return [f'    {name}="""', *(f"    {line}" for line in lines), '    """,']


def literal(data: bytes) -> str:
    """Return bytes as a literal."""
    return repr(data)


def dotted(path: Path) -> str:
    """Return the name of the module at a path."""
    return ".".join(path.parts)


__all__ = ["existing", "outputs"]
