"""Write everything that is generated: ``python generate.py``.

From proto/ the messages and stubs, by the protoc that grpcio-tools brings; from
the code for asyncio the code for threads. With ``--check`` nothing is written,
and what differs is an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import unasync

HERE = Path(__file__).resolve().parent
PROTO = HERE.parents[1] / "proto"
PACKAGE = Path("kubeconnect/v1")


def main() -> int:
    """Write or check, and return the exit code."""
    check = "--check" in sys.argv[1:]
    wanted = {**messages(), **unasync.outputs()}
    stale = sorted(path for path in existing() | wanted.keys() if read(path) != wanted.get(path))
    for path in stale:
        print(f"{'differs' if check else 'written'}: {path.relative_to(HERE)}")
        if not check:
            write(path, wanted.get(path))
    return 1 if check and stale else 0


def messages() -> dict[Path, bytes]:
    """Return the code for the messages and services of proto/."""
    with tempfile.TemporaryDirectory() as out:
        protos = sorted((PROTO / PACKAGE).glob("*.proto"))
        services = [path for path in protos if path.stem.endswith("_service")]
        protoc(protos, f"--python_out={out}", f"--pyi_out={out}")
        protoc(services, f"--grpc_python_out={out}", f"--mypy_grpc_out=quiet:{out}")
        made = (Path(out) / PACKAGE).iterdir()
        return {HERE / "src" / PACKAGE / path.name: path.read_bytes() for path in made}


def protoc(protos: list[Path], *arguments: str) -> None:
    """Run protoc with the plugin that stands beside this Python."""
    plugin = Path(sys.executable).with_name("protoc-gen-mypy_grpc")
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}"),
            *(f"--plugin=protoc-gen-mypy_grpc={plugin}", *arguments, *map(str, protos)),
        ],
        check=True,
        # The plugin's own generated code is older than our protobuf, and says so.
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )


def existing() -> set[Path]:
    """Return the generated files that are there now."""
    made = set((HERE / "src" / PACKAGE).glob("*_pb2*.py*"))
    for folder in unasync.FOLDERS.values():
        made |= set(folder.glob("*.py"))
    return made


def read(path: Path) -> bytes | None:
    """Return what a file holds; None if it is not there."""
    return path.read_bytes() if path.exists() else None


def write(path: Path, content: bytes | None) -> None:
    """Make a file hold that; None removes it."""
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())
