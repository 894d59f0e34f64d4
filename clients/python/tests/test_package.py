import pkgutil

import kubeconnect
from kubeconnect import aio


def test_has_only_these_public_modules() -> None:
    modules = {module.name for module in pkgutil.iter_modules(kubeconnect.__path__)}
    assert {name for name in modules if not name.startswith("_")} == {"aio", "v1"}
    assert all(module.name.startswith("_") for module in pkgutil.iter_modules(aio.__path__))


def test_shows_the_public_names_of_its_classes() -> None:
    assert kubeconnect.NotFound.__module__ == "kubeconnect"
    assert kubeconnect.Client.__module__ == "kubeconnect"
    assert aio.AsyncClient.__module__ == "kubeconnect.aio"
