"""``can-i`` and ``who-am-i``."""

from __future__ import annotations

import sys

import click

from kubeconnect import AccessCheck
from kubeconnect._cli._completers import complete_resources
from kubeconnect._cli._failures import FAILED, note
from kubeconnect._cli._objects import as_json, as_yaml
from kubeconnect._cli._options import all_namespaces_option
from kubeconnect._cli._session import Session, command
from kubeconnect._cli._tables import print_table
from kubeconnect._cli._terminal import shown

_VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]


@command("can-i")
@click.argument(
    "verb",
    shell_complete=lambda ctx, param, text: [each for each in _VERBS if each.startswith(text)],
)
@click.argument("resource", metavar="RESOURCE[/NAME]", shell_complete=complete_resources)
@click.argument("name", required=False)
@all_namespaces_option
@click.option("--subresource", help="A subresource, such as scale or log.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing: the exit code is 0 for yes.")
def can_i(
    session: Session,
    verb: str,
    resource: str,
    name: str | None,
    all_namespaces: bool,
    subresource: str | None,
    quiet: bool,
) -> None:
    """Print whether you are allowed to perform an action. The exit code of no is 1.

    \b
      kubeconnect can-i delete pods -n shop
      kubeconnect can-i update deployments --subresource scale
    """
    resource, _, path_name = resource.partition("/")
    check = AccessCheck(
        verb,
        resource,
        namespace=session.namespace_of(resource, all_namespaces),
        name=name or path_name or None,
        subresource=subresource,
    )
    (decision,) = session.client.check_access([check])
    if not quiet:
        sys.stdout.write("yes\n" if decision.allowed else "no\n")
        if decision.reason and not decision.allowed:
            note(decision.reason)
    if not decision.allowed:
        raise click.exceptions.Exit(FAILED)


@command("who-am-i", namespaced=False)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml", "name"]),
    default="table",
    show_default=True,
    help="The format; name is the user name.",
)
def who_am_i(session: Session, output: str) -> None:
    """Print your identity in the cluster.

    \b
      kubeconnect who-am-i -o json
    """
    identity = session.client.who_am_i()
    if output == "name":
        sys.stdout.write(shown(identity.username) + "\n")
        return
    if output == "table":
        rows = [("Username", identity.username), ("UID", identity.uid or "")]
        rows.append(("Groups", ", ".join(identity.groups)))
        rows += [(f"Extra: {key}", ", ".join(each)) for key, each in identity.extra.items()]
        print_table(["ATTRIBUTE", "VALUE"], [row for row in rows if row[1]])
        return
    value = {
        "username": identity.username,
        "uid": identity.uid,
        "groups": list(identity.groups),
        "extra": {key: list(each) for key, each in identity.extra.items()},
    }
    sys.stdout.write(as_yaml(value) if output == "yaml" else as_json(value, indent=4) + "\n")
