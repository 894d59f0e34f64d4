import pkgutil
import subprocess
import sys
from importlib.metadata import version
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


def test_does_not_import_the_fake_service() -> None:
    program = (
        "import sys, kubeconnect, kubeconnect.aio; print('kubeconnect.testing' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == "False\n", ran.stderr
