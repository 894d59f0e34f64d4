"""Types of Kubernetes objects, from the schemas of a cluster, for type checkers.

``python -m kubeconnect.types deployments.apps certificates.cert-manager.io > types.py``
writes a module with a TypedDict for each kind, and for each type within it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from kubeconnect import Client, KubeconnectError, NotFound, SchemaResult
from kubeconnect._typed_dicts import typed_dicts

__all__ = ["main", "typed_dicts"]

typed_dicts.__module__ = __name__


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the types of some resources, and return the exit code. ``arguments`` are those of the
    command line; the default is ``sys.argv``.
    """
    parser = argparse.ArgumentParser(
        prog="python -m kubeconnect.types",
        description="Write TypedDicts for the kinds of resources, from the cluster's schemas.",
    )
    parser.add_argument("resources", nargs="*", help="resources, such as deployments.apps")
    parser.add_argument("--all", action="store_true", help="all resources that have a schema")
    parser.add_argument(
        "--address",
        default="http://127.0.0.1:8080",
        help="the address of kubeconnect (default: %(default)s)",
    )
    parser.add_argument("--token-file", help="the path of a file with a bearer token")
    parser.add_argument("--ca-file", help="the path of CA certificates")
    parser.add_argument(
        "--total",
        action="store_true",
        help='require all keys, so that pyright accepts pod["spec"]; for programs that only read',
    )
    options = parser.parse_args(arguments)
    if bool(options.resources) == options.all:
        parser.error("name the resources, or use --all")
    try:
        with Client(
            options.address, token_file=options.token_file, ca_file=options.ca_file
        ) as client:
            if options.all:
                schemas = list(all_schemas(client))
            else:
                schemas = [client.schema(name) for name in options.resources]
    except KubeconnectError as error:
        print(f"{parser.prog}: {_visible(error.message)}", file=sys.stderr)
        return 1
    sys.stdout.write(typed_dicts(schemas, total=options.total))
    return 0


def _visible(text: str) -> str:
    """Return a text of the cluster without characters that control a terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def all_schemas(client: Client) -> Iterator[SchemaResult]:
    """Yield the schemas of all resources that have one, in the versions that are preferred."""
    for each in client.resource_types().types:
        resource = each.resource
        try:
            yield client.schema(f"{resource.kind}.{resource.version}.{resource.group}")
        except NotFound:
            continue


if __name__ == "__main__":
    sys.exit(main())
