"""Write all generated code: ``python generate.py``.

The messages and stubs are generated from proto/ and from the .proto files of Kubernetes by the
protoc of grpcio-tools, and the code for threads from the code for asyncio. With ``--check``
nothing is written, and a difference is an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import builtin_kinds
import unasync

HERE = Path(__file__).resolve().parent
PROTO = HERE.parents[1] / "proto"
PACKAGE = Path("kubeconnect/v1")


def main() -> int:
    """Write or check the generated code, and return the exit code."""
    check = "--check" in sys.argv[1:]
    expected = {**messages(), **builtin_kinds.outputs(), **unasync.outputs()}
    paths = existing() | expected.keys()
    stale = sorted(path for path in paths if read(path) != expected.get(path))
    for path in stale:
        print(f"{'differs' if check else 'written'}: {path.relative_to(HERE)}")
        if not check:
            write(path, expected.get(path))
    return 1 if check and stale else 0


def messages() -> dict[Path, bytes]:
    """Return the generated code of the messages and services of proto/."""
    with tempfile.TemporaryDirectory() as out:
        protos = sorted((PROTO / PACKAGE).glob("*.proto"))
        services = [path for path in protos if path.stem.endswith("_service")]
        protoc(protos, f"--python_out={out}", f"--pyi_out={out}")
        protoc(services, f"--grpc_python_out={out}", f"--mypy_grpc_out=quiet:{out}")
        generated = (Path(out) / PACKAGE).iterdir()
        return {HERE / "src" / PACKAGE / path.name: path.read_bytes() for path in generated}


def protoc(protos: list[Path], *arguments: str) -> None:
    """Run protoc with the plugin in this Python's directory."""
    plugin = Path(sys.executable).with_name("protoc-gen-mypy_grpc")
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}"),
            *(f"--plugin=protoc-gen-mypy_grpc={plugin}", *arguments, *map(str, protos)),
        ],
        check=True,
        # The plugin's own generated code warns that it is older than the installed protobuf.
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )


def existing() -> set[Path]:
    """Return the paths of the generated files that exist."""
    generated = set((HERE / "src" / PACKAGE).glob("*_pb2*.py*")) | builtin_kinds.existing()
    for folder in unasync.FOLDERS.values():
        generated |= set(folder.glob("*.py"))
    return generated


def read(path: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    return path.read_bytes() if path.exists() else None


def write(path: Path, content: bytes | None) -> None:
    """Write the content to a file, or remove the file if the content is None."""
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())
