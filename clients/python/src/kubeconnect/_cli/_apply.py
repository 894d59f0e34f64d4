"""``apply``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from kubeconnect import ApplyError, PatchResult
from kubeconnect._cli._each import for_each
from kubeconnect._cli._failures import warn
from kubeconnect._cli._objects import as_json, as_yaml, content, object_name
from kubeconnect._cli._options import dry_run_option, dry_run_suffix
from kubeconnect._cli._session import Session, command
from kubeconnect._manifests import Manifest, read_yaml

_SUFFIXES = (".yaml", ".yml", ".json")

files_option = click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    type=click.Path(exists=True, allow_dash=True),
    help="A file, a folder of files, or - for stdin.",
)


@command("apply")
@files_option
@click.option("--field-manager", default="kubeconnect", show_default=True, help="Owns the fields.")
@click.option("--force-conflicts", is_flag=True, help="Take ownership of fields of other managers.")
@dry_run_option
@click.option("--server-side", is_flag=True, hidden=True, help="Accepted, as in kubectl: always.")
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), help="Print the objects that result."
)
def apply(
    session: Session,
    files: Sequence[str],
    field_manager: str,
    force_conflicts: bool,
    dry_run: bool,
    server_side: bool,
    output: str | None,
) -> None:
    """Create or change the objects of files (server-side apply).

    Nothing is applied if a file is invalid. If an object is rejected, the others are applied.

    \b
      kubeconnect apply -f app.yaml -f config/
      cat app.yaml | kubeconnect apply -n shop -f -
    """
    if not files:
        raise click.UsageError("name the files with -f")

    manifests = read_manifests(files)
    for manifest in manifests:
        _check_namespace(session, manifest)

    def apply_one(manifest: Manifest) -> None:
        try:
            (result,) = session.client.apply_yaml(
                manifest.data,
                namespace=_namespace_of(session, manifest),
                field_manager=field_manager,
                force=force_conflicts,
                dry_run=dry_run,
            )
        except ApplyError as error:
            raise error.errors[0] from None
        warn(result.warnings)
        _print(result, dry_run, output)

    for_each(manifests, apply_one)


def read_manifests(files: Sequence[str]) -> list[Manifest]:
    """Return the objects of files. Raises ValueError, with the name of the file."""
    manifests: list[Manifest] = []
    for name in (name for file in files for name in _expand(file)):
        text = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        try:
            manifests += read_yaml(text)
        except ValueError as error:
            raise ValueError(f"{'stdin' if name == '-' else name}: {error}") from error
    return manifests


def _expand(file: str) -> Iterator[str]:
    if file == "-" or not Path(file).is_dir():
        yield file
        return
    for path in sorted(Path(file).iterdir()):
        if path.suffix in _SUFFIXES and path.is_file():
            yield str(path)


def _check_namespace(session: Session, manifest: Manifest) -> None:
    """Raise ValueError for a namespace that is not the one of -n."""
    if manifest.namespace and session.explicit_namespace not in (None, manifest.namespace):
        raise ValueError(
            f"{manifest}: its namespace is not {session.explicit_namespace}, which -n names"
        )


def _namespace_of(session: Session, manifest: Manifest) -> str | None:
    """Return the namespace for a manifest that may have none."""
    # None for a kind without namespaces. A kind that is not served yet may be defined by an
    # earlier document.
    return session.namespace_of(manifest.resource) if not manifest.namespace else None


def _print(result: PatchResult, dry_run: bool, output: str | None) -> None:
    found = result.object
    if output:
        write = as_yaml if output == "yaml" else as_json
        separator = "---\n" if output == "yaml" else ""
        sys.stdout.write(separator + write(content(found)).rstrip("\n") + "\n")
        return
    done = "created" if result.created else "applied"
    sys.stdout.write(f"{object_name(found.resource, found.name)} {done}{dry_run_suffix(dry_run)}\n")
