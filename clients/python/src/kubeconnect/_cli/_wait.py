"""``wait``."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from time import monotonic

import click

from kubeconnect import DeadlineExceeded
from kubeconnect._cli._failures import FAILED, report
from kubeconnect._cli._objects import object_name
from kubeconnect._cli._options import duration
from kubeconnect._cli._session import Session, command
from kubeconnect._cli._targets import Target, target_arguments, targets_of

_JSONPATH = re.compile(r"jsonpath=(?P<path>\{[^}]*\}|[^=]+)(?:=(?P<value>.*))?", re.DOTALL)
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\['([^']+)'\]|\[\"([^\"]+)\"\]|\[(\d+)\]")


@command("wait")
@target_arguments()
@click.option(
    "--for",
    "condition",
    required=True,
    help="condition=TYPE[=STATUS], delete, create, rollout, jsonpath={PATH}[=VALUE], or a CEL "
    "expression over object.",
)
@click.option("-l", "--selector", "label_selector", help="A label selector.")
@click.option("--timeout", type=duration, default="30s", show_default=True, help="0: no limit.")
def wait(
    session: Session,
    targets: Sequence[str],
    condition: str,
    label_selector: str | None,
    timeout: float,
) -> None:
    """Wait until objects meet a condition. Objects that do not exist yet are waited for.

    \b
      kubeconnect wait pods web-0 --for condition=Ready
      kubeconnect wait deployment/web --for rollout --timeout 5m
      kubeconnect wait pod/web-0 --for delete
      kubeconnect wait pod/web-0 --for jsonpath='{.status.phase}'=Running
      kubeconnect wait job/load --for "object.status.succeeded > 2"
    """
    wanted = condition_of(condition)
    end = monotonic() + (timeout or math.inf)
    failed = False
    for target in _resolve(session, targets_of(session, targets), label_selector):
        for name in target.names:
            try:
                _wait(session, target.resource, name, wanted, end)
            except DeadlineExceeded as error:  # also after the deadline, for the last state
                report(error)
                failed = True
    if failed:
        raise click.exceptions.Exit(FAILED)


def _wait(session: Session, resource: str, name: str, condition: str, end: float) -> None:
    namespace = session.namespace_of(resource)
    # In whole seconds, which errors have as the user wrote them.
    rest = end if math.isinf(end) else max(math.ceil(end - monotonic()), 1)
    found = session.client.wait_for(resource, name, condition, namespace=namespace, timeout=rest)
    title = object_name(found.resource, name) if found else f"{resource}/{name}"
    sys.stdout.write(f"{title} {'deleted' if condition == 'deleted' else 'condition met'}\n")
    sys.stdout.flush()


def _resolve(
    session: Session, targets: Sequence[Target], label_selector: str | None
) -> Sequence[Target]:
    """Return targets with the names that a selector matches now."""
    if label_selector is None:
        if all(target.names for target in targets):
            return targets
        raise click.UsageError("name the objects, or select them with -l")
    return [_selected(session, target.resource, label_selector) for target in targets]


def _selected(session: Session, resource: str, label_selector: str) -> Target:
    namespace = session.namespace_of(resource)
    found = session.client.list(
        resource, namespace=namespace, label_selector=label_selector, metadata_only=True
    )
    if not found:
        raise ValueError(f"no {resource} match {label_selector}")
    return Target(resource, tuple(each.name for each in found))


def condition_of(text: str) -> str:
    """Return the condition of ``Client.wait_for`` for one in kubectl's syntax."""
    if text in ("delete", "deleted"):
        return "deleted"
    if text == "create":
        return "true"
    if not text.startswith("jsonpath="):
        return text
    match = _JSONPATH.fullmatch(text)
    steps = _steps(match["path"].strip("{}")) if match else []
    if match is None or not steps:
        raise click.BadParameter(
            f'"{text}" is not jsonpath={{.PATH}}=VALUE with names and indexes only: use a CEL '
            "expression over object",
            param_hint="--for",
        )
    if match["value"] is None:
        return _exists(steps)
    return f"string({_expression(steps)}) == {_literal(match['value'])}"


def _steps(path: str) -> list[str | int]:
    """Return the names and indexes of a path; none if it has anything else."""
    path = path if path.startswith((".", "[")) else f".{path}"
    steps = list(_STEP.finditer(path))
    if "".join(step[0] for step in steps) != path:
        return []
    return [int(step[4]) if step[4] else step[1] or step[2] or step[3] for step in steps]


def _expression(steps: Sequence[str | int]) -> str:
    """Return the CEL expression of a path."""
    return "object" + "".join(
        f".{step}" if _is_identifier(step) else f"[{_literal(step)}]" for step in steps
    )


def _exists(steps: Sequence[str | int]) -> str:
    """Return the CEL expression for the existence of a path."""
    parent, last = _expression(steps[:-1]), steps[-1]
    if isinstance(last, int):
        return f"size({parent}) > {last}"
    return f"has({parent}.{last})" if _is_identifier(last) else f"{_literal(last)} in {parent}"


def _is_identifier(step: str | int) -> bool:
    return isinstance(step, str) and re.fullmatch(r"[A-Za-z_]\w*", step) is not None


def _literal(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
