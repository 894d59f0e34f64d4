import pkgutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import kubeconnect
from kubeconnect import aio

HERE = Path(__file__).parents[1]


def test_has_a_version() -> None:
    assert kubeconnect.__version__ == version("kubeconnect")


def test_contains_the_license_of_the_repository() -> None:
    assert (HERE / "LICENSE").read_bytes() == (HERE.parents[1] / "LICENSE").read_bytes()


def test_has_only_these_public_modules() -> None:
    modules = {module.name for module in pkgutil.iter_modules(kubeconnect.__path__)}
    assert {name for name in modules if not name.startswith("_")} == {
        *("aio", "data", "k8s", "testing", "types", "v1")
    }
    assert all(module.name.startswith("_") for module in pkgutil.iter_modules(aio.__path__))


def test_shows_the_public_names_of_its_classes() -> None:
    assert kubeconnect.NotFound.__module__ == "kubeconnect"
    assert kubeconnect.Client.__module__ == "kubeconnect"
    assert aio.AsyncClient.__module__ == "kubeconnect.aio"


NOT_NEEDED_TO_IMPORT = {
    "click",
    "decimal",
    "html",
    "kubeconnect._exec_credentials",
    "kubeconnect._kubeconfig",
    "kubeconnect._typed_columns",
    "kubeconnect.aio",
    "kubeconnect.data",
    "kubeconnect.k8s",
    "kubeconnect.testing",
    "kubeconnect.types",
    "opentelemetry",
    "pandas",
    "polars",
    "prometheus_client",
    "pyarrow",
    "rich",
    "shutil",
    "tarfile",
    "tempfile",
    "tomllib",
    "uuid",
    "websockets",
    "yaml",
}


def test_imports_nothing_that_only_some_programs_need() -> None:
    program = "import sys, kubeconnect; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    assert "kubeconnect" in loaded.decode().split()
    assert NOT_NEEDED_TO_IMPORT & set(loaded.decode().split()) == set()
    assert all(find_spec(name) for name in NOT_NEEDED_TO_IMPORT if name.startswith("kubeconnect."))
