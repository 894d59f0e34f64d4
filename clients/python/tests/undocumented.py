"""Print what the reference does not explain, one line each: ``python -m tests.undocumented``.

The names are prepared for pdoc, so this needs a process of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from pdoc.doc import Class, Doc, Function, Module, Variable

import kubeconnect
import reference

# Arguments that mean what they mean to kubectl, and the one that a conversion converts.
OBVIOUS = {"name", "namespace", "resource", "value"}
# Members that every message has.
PROTOBUF = {"DESCRIPTOR", "FromString", "SerializeToString"}
DURATION = re.compile(r"timeout|seconds$|delay|deadline|duration|period|interval|staleness")


def main() -> None:
    modules = list(reference.public_modules())
    reference.prepare(modules)
    for module in modules:
        for problem in problems(Module(module)):
            print(problem)


def problems(doc: Module | Class) -> Iterator[str]:
    """Yield what the members of a module or class lack."""
    members = doc.own_members if isinstance(doc, Class) else doc.members.values()
    for member in members:
        if is_hidden(member):
            continue
        if isinstance(member, Class):
            yield from problems(member)
        if isinstance(member, Function):
            yield from problems_of_function(member, doc)
        elif not member.docstring and not is_named(member, doc):
            yield f"{member.fullname}: has no docstring"
        elif isinstance(member, Variable) and has_no_unit(member.name, member.docstring):
            yield f"{member.fullname}: has no unit"


def is_hidden(member: Doc[Any]) -> bool:
    private = member.name.startswith("_") and member.name != "__init__"
    return private or "@private" in member.docstring or member.name in PROTOBUF


def is_named(member: Doc[Any], owner: Module | Class) -> bool:
    """Report whether the docstring of a class explains its attribute, as that of Object does."""
    return f"``{member.name}``" in owner.docstring


def problems_of_function(function: Function, owner: Module | Class) -> Iterator[str]:
    if function.name == "__init__" and is_dataclass(owner.obj):
        return  # the fields have docstrings
    if not function.docstring:
        yield f"{function.fullname}: has no docstring"
    text = explanation(function, owner)
    for name in function.signature_without_self.parameters:
        if name not in OBVIOUS and not re.search(rf"\b{name}\b", text):
            yield f"{function.fullname}: does not explain {name}"
        elif has_no_unit(name, text):
            yield f"{function.fullname}: has no unit of {name}"


def explanation(function: Function, owner: Module | Class) -> str:
    """Return the docstrings of a function, of its class, and of what these refer to."""
    named = re.findall(r"``(?:\w+\.)?(\w+)``", function.docstring)
    docs = [owner.get("__init__"), *(owner.get(name) or exported(name) for name in named)]
    return "\n".join([function.docstring, owner.docstring, *map(complete, filter(None, docs))])


def exported(name: str) -> Doc[Any] | None:
    return Module(kubeconnect).get(name)


def complete(doc: Doc[Any]) -> str:
    """Return the docstring with the names of a class's attributes."""
    names = [member.name for member in doc.own_members] if isinstance(doc, Class) else []
    return "\n".join([doc.docstring, *names])


def has_no_unit(name: str, text: str) -> bool:
    return bool(DURATION.search(name)) and "second" not in text


if __name__ == "__main__":
    main()
