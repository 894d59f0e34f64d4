"""Tests of the wheel and the sdist: what they contain, and that they work where they are installed.

Tests that install them need KUBECONNECT_WHEELS: a folder with the wheels of all requirements, which
``make check-python`` downloads. With KUBECONNECT_DIST, the folder of a release, its wheel and sdist
are tested: ``make check-release``.
"""

import os
import re
import subprocess
import sys
import tarfile
import textwrap
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata

import kubeconnect
from tests.fake import FakeService, pod
from tests.programs import ADDRESS, programs_of

HERE = Path(__file__).parents[1]
SOURCES = HERE / "src/kubeconnect"
WHEELS = os.environ.get("KUBECONNECT_WHEELS")
DIST = os.environ.get("KUBECONNECT_DIST")
EXTRAS = "k8s,metrics,yaml"

PROGRAMS = programs_of((HERE / "README.md").read_text())
WRONG = """
import kubeconnect

kubeconnect.Client(7)
"""

# What is not a module, and is missing if nobody thinks of it.
FILES = {
    "SKILL.md",
    "llms.txt",
    "py.typed",
    "v1/object_pb2.pyi",
    "v1/resource_service_pb2_grpc.pyi",
    "k8s/core/v1.pyi",
}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and the sdist. The wheel is built from the sdist, as by installers."""
    if DIST is not None:
        return Path(DIST)
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, HERE)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (path,) = dist.glob("kubeconnect-*-py3-none-any.whl")
    return path


@pytest.fixture(scope="module")
def sdist(dist: Path) -> Path:
    (path,) = dist.glob("kubeconnect-*.tar.gz")
    return path


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Return what the command prints, without the import path of the tests."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sources() -> set[str]:
    """Return the paths of the package's files, relative to its folder."""
    files = (path for path in SOURCES.rglob("*") if path.is_file())
    return {
        path.relative_to(SOURCES).as_posix() for path in files if "__pycache__" not in path.parts
    }


def metadata_of(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return archive.read(name)


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {f"kubeconnect/{path}" for path in sources()}
    assert names >= {f"kubeconnect/{path}" for path in FILES}


def test_the_wheel_has_the_license(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
        assert archive.read(name) == (HERE / "LICENSE").read_bytes()


def test_the_sdist_has_what_the_wheel_is_built_from(sdist: Path) -> None:
    root = sdist.name.removesuffix(".tar.gz")
    with tarfile.open(sdist) as archive:
        names = {member.name.removeprefix(f"{root}/") for member in archive if member.isfile()}
    package = {f"src/kubeconnect/{path}" for path in sources()}
    assert names - package == {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore"}
    assert package <= names


def test_the_metadata_is_valid_and_complete(wheel: Path) -> None:
    metadata = Metadata.from_email(metadata_of(wheel), validate=True)
    assert str(metadata.version) == kubeconnect.__version__
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.license_files == ["LICENSE"]
    assert set(metadata.project_urls or {}) == {"Documentation", "Issues", "Source"}
    assert metadata.description == (HERE / "README.md").read_text()
    assert metadata.description_content_type == "text/markdown"
    assert {"Typing :: Typed", "Framework :: AsyncIO"} <= set(metadata.classifiers or ())


def test_the_classifiers_are_the_supported_versions_of_python(wheel: Path) -> None:
    metadata = Metadata.from_email(metadata_of(wheel), validate=True)
    classifiers = "\n".join(metadata.classifiers or ())
    versions = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.M)
    assert versions == ["3.10", "3.11", "3.12", "3.13", "3.14"]
    assert str(metadata.requires_python) == f">={versions[0]}"


def test_development_tools_are_not_published(wheel: Path) -> None:
    metadata = Metadata.from_email(metadata_of(wheel), validate=True)
    assert {"k8s", "metrics", "yaml"} <= set(metadata.provides_extra or ())
    assert "dev" not in (metadata.provides_extra or ())
    assert not [required for required in metadata.requires_dist or () if required.name == "pytest"]


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package into an environment of its own; return the path of its Python."""
    if WHEELS is None:
        pytest.skip("KUBECONNECT_WHEELS is not set")
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder, with_pip=False)
    python = folder / "bin/python"
    path = request.getfixturevalue(request.param)
    pip = [sys.executable, "-m", "pip", f"--python={python}", "install", "--quiet"]
    run(*pip, "--no-index", f"--find-links={Path(WHEELS).resolve()}", f"{path}[{EXTRAS}]")
    return python


def test_an_installed_package_is_complete(installed: Path, tmp_path: Path) -> None:
    program = """
        from pathlib import Path

        import kubeconnect, kubeconnect.aio, kubeconnect.k8s.core.v1, kubeconnect.types

        folder = Path(kubeconnect.__file__).parent
        print(kubeconnect.__version__, folder.is_relative_to("{prefix}"))
        print(*sorted(path.name for path in folder.iterdir() if path.name in {files}))
    """
    files = {path for path in FILES if "/" not in path}
    program = program.format(prefix=installed.parents[1], files=files)
    printed = run(installed, "-I", "-c", textwrap.dedent(program), cwd=tmp_path)
    assert printed.split() == [kubeconnect.__version__, "True", *sorted(files)]


def test_a_program_that_uses_an_installed_package_passes_mypy(
    installed: Path, tmp_path: Path
) -> None:
    programs = [PROGRAMS["Read"][0], PROGRAMS["Typed objects"][0], WRONG]
    paths = [tmp_path / f"program{number}.py" for number in range(len(programs))]
    for path, program in zip(paths, programs, strict=True):
        path.write_text(program)
    mypy = [sys.executable, "-m", "mypy", "--strict", f"--python-executable={installed}"]
    run(*mypy, *paths[:-1], cwd=tmp_path)
    with pytest.raises(AssertionError, match='"int"; expected "str"'):
        run(*mypy, paths[-1], cwd=tmp_path)


def test_a_program_runs_with_an_installed_package(
    installed: Path, tmp_path: Path, service: FakeService
) -> None:
    service.objects = [pod("web", spec={"nodeName": "n1"})]
    program = PROGRAMS["Read"][0].replace(ADDRESS, service.address)
    printed = run(installed, "-I", "-W", "error", "-c", program, cwd=tmp_path)
    assert printed == "web n1\n1 pods at version 1000\ndemo web\n"


def test_an_installed_command_runs(installed: Path, tmp_path: Path) -> None:
    command = (installed, "-I", "-m", "kubeconnect.types", "--help")
    assert "usage: python -m kubeconnect.types" in run(*command, cwd=tmp_path)
