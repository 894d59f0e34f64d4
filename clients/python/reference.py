"""Write the reference of the public names as HTML: ``python reference.py FOLDER``.

pdoc documents the objects of the running program. The public names are therefore prepared first:
pdoc finds comments and types in the module that defines a class, and not in the one that exports
it, and it documents the members that a class inherits from private classes as links to nothing.
"""

from __future__ import annotations

import pkgutil
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from importlib import import_module
from inspect import getsource
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

import pdoc

import kubeconnect

# The prefixes of the names of private modules.
PRIVATE = ("kubeconnect._", "kubeconnect.aio._", "kubeconnect.k8s._", "kubeconnect.testing._")

# What users call, and what they do not, although its name is public.
CONSTRUCTED = {
    *("AccessCheck", "Client", "Controller", "FakeService", "LeaderElector"),
    *("WatchSpec", "WorkQueue"),
}
INTERNAL = {"from_message", "to_message", "number", "number_of"}

# The names that a reader looks for first. The others follow in alphabetical order.
FIRST = ("connect", "Client", "AsyncClient", "Object", "ObjectList", "AsyncObjectList", "Watch")


def main() -> None:
    """Write the reference into the folder of the first argument."""
    modules = list(public_modules())
    prepare(modules)
    footer = f"kubeconnect {kubeconnect.__version__}"
    pdoc.render.configure(docformat="markdown", footer_text=footer, show_source=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # pdoc shows a type as text if it cannot evaluate it, as after a method named list.
        warnings.filterwarnings("ignore", "Error parsing type annotation")
        pdoc.pdoc(*(module.__name__ for module in modules), output_directory=Path(sys.argv[1]))


def public_modules() -> Iterator[ModuleType]:
    """Import the modules that are written by hand and are public."""
    yield kubeconnect
    for found in pkgutil.walk_packages(kubeconnect.__path__, "kubeconnect."):
        if "._" not in found.name and hasattr(module := import_module(found.name), "__all__"):
            yield module


def prepare(modules: list[ModuleType]) -> None:
    """Make the public names what pdoc expects."""
    public = {value for module in modules for value in values(module)}
    private = list(private_modules())
    for value in public:
        restore_origin(value, private)
        if isinstance(value, type):
            inherit(value, public)
            hide_internals(value, public)
    for module in modules:
        vars(module)["__all__"] = sorted(module.__all__, key=position)


def position(name: str) -> tuple[int, str]:
    """Return the sort key of a name."""
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def values(module: ModuleType) -> Iterator[Any]:
    """Return the classes and functions that the module exports from a private module."""
    for name in module.__all__:
        value = getattr(module, name)
        if getattr(value, "__module__", None) == module.__name__:
            yield value


def private_modules() -> Iterator[ModuleType]:
    """Import the private modules of the package."""
    for found in pkgutil.walk_packages(kubeconnect.__path__, "kubeconnect."):
        if found.name.startswith(PRIVATE) and not found.name.endswith(".__main__"):
            yield import_module(found.name)


def restore_origin(value: Any, modules: Iterable[ModuleType]) -> None:
    """Give the value the module and, as pdoc needs for classes, the line of its definition."""
    pattern = re.compile(rf"^(class|def|async def) {value.__name__}\b", re.MULTILINE)
    for module in modules:
        exported = vars(module).get(value.__name__) is value
        if exported and (definition := pattern.search(source := getsource(module))):
            value.__module__ = module.__name__
            value.__firstlineno__ = source.count("\n", 0, definition.start()) + 1


def inherit(cls: type, public: AbstractSet[Any]) -> None:
    """Copy the members of private base classes into the class."""
    for base in cls.__mro__[1:]:
        if is_private(base, public):
            for name, member in vars(base).items():
                if not name.startswith("_") and name not in vars(cls):
                    setattr(cls, name, member)


def hide_internals(cls: type, public: AbstractSet[Any]) -> None:
    """Hide what only the package uses: constructors, conversions of messages, base classes."""
    for name in INTERNAL & vars(cls).keys():
        delattr(cls, name)
    if cls.__name__.removeprefix("Async") not in CONSTRUCTED and "__init__" in vars(cls):
        vars(cls)["__init__"].__doc__ = "@private"
    bases: tuple[Any, ...] = vars(cls).get("__orig_bases__", cls.__bases__)
    shown = [base for base in bases if not is_private(get_origin(base) or base, public)]
    setattr(cls, "__orig_bases__", tuple(shown))  # noqa: B010


def is_private(cls: type, public: AbstractSet[Any]) -> bool:
    """Report whether a class is neither public nor from elsewhere."""
    return cls not in public and cls.__module__.startswith(PRIVATE)


if __name__ == "__main__":
    main()
