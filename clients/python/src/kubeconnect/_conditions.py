"""The conditions that a program waits for, without any I/O."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kubeconnect._objects import Object
from kubeconnect._rollouts import rollout_failure, rollout_problem
from kubeconnect._types import T

Condition: TypeAlias = str | Callable[[T], object]
"""A condition of one object: "condition=Ready", "deleted", "rollout", a CEL expression over
``object``, or a function that returns whether the object is as wanted."""

_NAME = re.compile(r"(?!(true|false)$)[A-Za-z]\w*")
_STATUS_CONDITION = re.compile(r"condition=([^=\s]+)(?:=([^=\s]+))?")


class Check(ABC):
    """A condition, judged by each state of the object."""

    filter: str | None = None
    """A CEL expression that the service evaluates; None to judge in this process."""
    metadata_only = False
    """Whether the metadata of the object is sufficient."""
    by_absence = False
    """Whether the condition is met when the object does not exist."""

    @abstractmethod
    def is_met(self, object: Object) -> bool:
        """Return whether a state of the object meets the condition."""

    def failure(self, object: Object) -> str | None:
        """Return why the condition will not be met without another change; None if it may be."""
        return None

    def describe(self, object: Object) -> str:
        """Return why a state of the object does not meet the condition."""
        return _summary(object)


def check(condition: Condition) -> Check:
    """Return the check of a condition. Raises ValueError for a single name, such as "Ready", which
    is no expression over ``object``.
    """
    if callable(condition):
        return _Function(condition)
    if condition == "deleted":
        return _Deleted()
    if condition == "rollout":
        return _Rollout()
    if match := _STATUS_CONDITION.fullmatch(condition):
        return _StatusCondition(match[1], match[2] or "True")
    if _NAME.fullmatch(condition):
        raise ValueError(
            f'"{condition}" is not a condition: use "condition={condition}", "deleted", '
            f'"rollout", a CEL expression over object, or a function'
        )
    return _Expression(condition)


class _Function(Check):
    def __init__(self, function: Callable[[Object], object]) -> None:
        self._function = function

    def is_met(self, object: Object) -> bool:
        return bool(self._function(object))


class _Expression(Check):
    def __init__(self, expression: str) -> None:
        self.filter = expression

    def is_met(self, object: Object) -> bool:
        return False


class _Deleted(Check):
    metadata_only = True
    by_absence = True

    def __init__(self) -> None:
        self._uid: str | None = None

    def is_met(self, object: Object) -> bool:
        """Return whether it is another object with the name of the first one."""
        self._uid = self._uid or object.uid
        return object.uid != self._uid

    def describe(self, object: Object) -> str:
        if not object.deleting:
            return "it exists"
        finalizers = ", ".join(object.metadata.get("finalizers") or ())
        return "it is being deleted" + (f", with the finalizers {finalizers}" if finalizers else "")


class _Rollout(Check):
    def is_met(self, object: Object) -> bool:
        return rollout_problem(object) is None

    def failure(self, object: Object) -> str | None:
        return rollout_failure(object)

    def describe(self, object: Object) -> str:
        return rollout_problem(object) or "it is complete"


class _StatusCondition(Check):
    def __init__(self, type: str, status: str) -> None:
        self._type = type
        self._status = status

    def is_met(self, object: Object) -> bool:
        found = self._find(object)
        status = str(found.get("status", "")) if found else ""
        return status.lower() == self._status.lower() and not _is_outdated(object, found)

    def describe(self, object: Object) -> str:
        found = self._find(object)
        if not found:
            return f"it has no condition {self._type}; {_summary(object)}"
        outdated = ", for an earlier generation" if _is_outdated(object, found) else ""
        return _describe_condition(found) + outdated

    def _find(self, object: Object) -> Mapping[str, Any] | None:
        wanted = self._type.lower()
        found = (each for each in _conditions(object) if str(each.get("type")).lower() == wanted)
        return next(found, None)


def _is_outdated(object: Object, condition: Mapping[str, Any] | None) -> bool:
    """Return whether a condition is about an earlier generation, as kubectl judges it."""
    observed = (condition or {}).get("observedGeneration")
    if observed is None:
        observed = (object.get("status") or {}).get("observedGeneration")
    generation = object.metadata.get("generation")
    return observed is not None and generation is not None and bool(observed < generation)


def _summary(object: Object) -> str:
    """Return the state of any object: its phase, and its conditions."""
    phase = (object.get("status") or {}).get("phase")
    parts = ["it is being deleted"] if object.deleting else []
    parts += [f"its phase is {phase}"] if phase else []
    parts += map(_describe_condition, _conditions(object))
    return ", ".join(parts) or f"it is at version {object.resource_version}"


def _describe_condition(condition: Mapping[str, Any]) -> str:
    text = f"{condition.get('type')} is {condition.get('status')}"
    details = ": ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key))
    return f"{text} ({details})" if details else text


def _conditions(object: Object) -> list[Mapping[str, Any]]:
    conditions: list[Mapping[str, Any]] = (object.get("status") or {}).get("conditions") or []
    return conditions
