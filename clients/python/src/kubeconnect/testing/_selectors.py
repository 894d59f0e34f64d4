"""Label selectors and field selectors, in kubectl's syntax."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kubeconnect._field_paths import FieldPath
from kubeconnect.testing._failures import bad_request
from kubeconnect.testing._metadata import label_key_problem
from kubeconnect.testing._resources import ResourceType

Matches: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""Returns whether an object, as JSON, matches."""

_TOKEN = re.compile(r"\s*(==|!=|[=<>!,()]|[^\s=<>!,()]+)")
_FIELD = re.compile(r"\s*([^=!,\s]+)\s*(==|=|!=)\s*([^,\s]*)\s*")
_SYMBOLS = frozenset(("==", "!=", "=", "<", ">", "!", ",", "(", ")"))

# The values of selectable fields that an object does not have.
_UNSET = {"spec.hostNetwork": "false", "spec.unschedulable": "false", "status.replicas": "0"}


def label_matches(selector: str) -> Matches:
    """Return the condition of a label selector: "app=web,tier in (a,b),!canary".

    Raises InvalidArgument for a malformed selector.
    """
    requirements = _Parser(selector).requirements() if selector.strip() else []

    def matches(content: Mapping[str, Any]) -> bool:
        labels: Mapping[str, str] = content["metadata"].get("labels") or {}
        return all(requirement(labels) for requirement in requirements)

    return matches


def selector_matches(selector: Mapping[str, Any]) -> Matches:
    """Return the condition of the selector of an object: ``matchLabels`` and
    ``matchExpressions``, or a map of labels.
    """
    if not {"matchLabels", "matchExpressions"} & selector.keys():
        selector = {"matchLabels": selector}
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    terms += [_term(**each) for each in selector.get("matchExpressions") or ()]
    return label_matches(",".join(terms))


def _term(key: str, operator: str, values: list[str] | None = None) -> str:
    texts = {"Exists": key, "DoesNotExist": f"!{key}"}
    return texts.get(operator) or f"{key} {operator.lower()} ({','.join(values or ())})"


def field_matches(selector: str, resource: ResourceType) -> Matches:
    """Return the condition of a field selector: "status.phase=Running,spec.nodeName!=n1".

    Raises InvalidArgument for a malformed selector, and for a field that the API server does not
    select by.
    """
    requirements = [
        _field_requirement(term, selector, resource) for term in selector.split(",") if term.strip()
    ]
    return lambda content: all(requirement(content) for requirement in requirements)


def _field_requirement(term: str, selector: str, resource: ResourceType) -> Matches:
    found = _FIELD.fullmatch(term)
    if found is None:
        raise bad_request(
            f'field_selector "{selector}": invalid selector: can\'t understand {term!r}'
        )
    name, operator, wanted = found.groups()
    known = ("metadata.name", "metadata.namespace", *resource.fields)
    if name not in known:
        listed = ", ".join(f'"{each}"' for each in known)
        raise bad_request(f'"{name}" is not a known field selector: only {listed}')
    path = FieldPath(name)

    def matches(content: Mapping[str, Any]) -> bool:
        value = path.value(content)
        text = _UNSET.get(name, "") if value is None else _text(value)
        return (text == wanted) is (operator != "!=")

    return matches


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_Requirement: TypeAlias = Callable[[Mapping[str, str]], bool]


class _Parser:
    """Reads one label selector."""

    def __init__(self, selector: str) -> None:
        self._selector = selector
        text = selector.rstrip()
        self._tokens: list[str] = [match[1] for match in _TOKEN.finditer(text)]

    def requirements(self) -> list[_Requirement]:
        found = [self._requirement()]
        while self._tokens:
            self._take(",")
            found.append(self._requirement())
        return found

    def _requirement(self) -> _Requirement:
        if self._next == "!":
            self._take("!")
            absent = self._key()
            return lambda labels: absent not in labels
        key = self._key()
        operator = self._next
        if operator in ("", ","):
            return lambda labels: key in labels
        self._tokens.pop(0)
        if operator in ("in", "notin"):
            values = self._values()
            return lambda labels: (labels.get(key) in values) is (operator == "in")
        if operator in ("=", "==", "!="):
            value = "" if self._next in ("", ",") else self._word()
            return lambda labels: (labels.get(key) == value) is (operator != "!=")
        if operator in ("<", ">"):
            return _comparison(key, operator, self._number())
        raise self._error(f"found {operator!r}, expected: in, notin, =, ==, !=, gt, lt")

    @property
    def _next(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _take(self, token: str) -> None:
        if self._next != token:
            raise self._error(f"found {self._next!r}, expected: {token!r}")
        self._tokens.pop(0)

    def _word(self) -> str:
        if not self._next or self._next in _SYMBOLS:
            raise self._error(f"found {self._next!r}, expected: identifier")
        return self._tokens.pop(0)

    def _key(self) -> str:
        key = self._word()
        if problem := label_key_problem(key):
            raise self._error(f'unable to parse requirement: Invalid value: "{key}": {problem}')
        return key

    def _number(self) -> int:
        word = self._word()
        if not word.isdecimal():
            raise self._error(f"{word!r} is not an integer")
        return int(word)

    def _values(self) -> set[str]:
        self._take("(")
        values = {""}
        if self._next != ")":
            values = {self._word()}
            while self._next == ",":
                self._take(",")
                values.add(self._word())
        self._take(")")
        return values

    def _error(self, problem: str) -> Exception:
        return bad_request(f'label_selector "{self._selector}": {problem}')


def _comparison(key: str, operator: str, bound: int) -> _Requirement:
    def holds(labels: Mapping[str, str]) -> bool:
        text = labels.get(key, "")
        if not text.lstrip("-").isdecimal():
            return False
        return int(text) > bound if operator == ">" else int(text) < bound

    return holds
