"""The credentials of a context of a kubeconfig.

The address of the cluster and its authority are those of the API server: they are not used for
connections to kubeconnect.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from kubeconnect._exec_credentials import ExecSpec
from kubeconnect._settings import ConfigurationError
from kubeconnect._transport.files import Content, FilePath, read

_File: TypeAlias = tuple[Path, Mapping[str, Any]]
"""The path and the content of a kubeconfig."""

DEFAULT_PATH = "~/.kube/config"

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
"""The extension of a cluster that has the configuration of exec plugins."""

_UNSUPPORTED = {
    "auth-provider": "authentication providers are not supported: use an exec plugin",
    "username": "basic authentication is not supported: use a token or a client certificate",
    "password": "basic authentication is not supported: use a token or a client certificate",
    "as": "impersonation is not supported",
    "as-uid": "impersonation is not supported",
    "as-groups": "impersonation is not supported",
    "as-user-extra": "impersonation is not supported",
}


@dataclass(frozen=True)
class ContextCredentials:
    """The credentials of a context: a token, a client certificate, a command, or several."""

    where: str
    """The user and the file, for errors."""
    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    certificate: Content | None = field(default=None, repr=False)
    key: Content | None = field(default=None, repr=False)
    command: ExecSpec | None = None


def context_credentials(kubeconfig: FilePath | None, context: str | None) -> ContextCredentials:
    """Return the credentials of a context.

    ``kubeconfig`` is the path of a file. None means the files of KUBECONFIG, merged as kubectl
    does it, or ~/.kube/config. ``context`` None means the current context.

    Raises ConfigurationError, which never has a part of a credential, and OSError for a file that
    cannot be read.
    """
    files = [_read(path) for path in _paths(kubeconfig)]
    if not files:
        raise ConfigurationError("there is no kubeconfig: KUBECONFIG names no file that exists")
    try:
        return _of_context(files, context or _current_context(files))
    except (KeyError, TypeError, AttributeError):
        paths = ", ".join(str(path) for path, _ in files)
        raise ConfigurationError(f"{paths}: it is not a valid kubeconfig") from None


def context_names(kubeconfig: FilePath | None) -> list[str]:
    """Return the names of all contexts. Raises errors as ``context_credentials``."""
    files = [content for _, content in map(_read, _paths(kubeconfig))]
    return [str(each["name"]) for content in files for each in content.get("contexts") or ()]


def _of_context(files: Sequence[_File], name: str) -> ContextCredentials:
    _, found = _entry(files, "contexts", "context", name)
    path, user = _entry(files, "users", "user", _text(found, "user", f'context "{name}"'))
    where = f'{path}: user "{found["user"]}"'
    for key, problem in _UNSUPPORTED.items():
        if user.get(key):
            raise ConfigurationError(f"{where}: {problem}")
    credentials = ContextCredentials(
        where,
        token=_text(user, "token", where) if user.get("token") else None,
        token_file=_resolved(path, user.get("tokenFile")),
        certificate=_content(path, user, "client-certificate", where),
        key=_content(path, user, "client-key", where),
        command=_exec_spec(path, user["exec"], where, files, found) if user.get("exec") else None,
    )
    _check(credentials)
    return credentials


def _check(credentials: ContextCredentials) -> None:
    if (credentials.certificate is None) != (credentials.key is None):
        raise ConfigurationError(
            f"{credentials.where}: client-certificate and client-key belong together"
        )
    if not any(
        (
            credentials.token,
            credentials.token_file,
            credentials.certificate,
            credentials.command,
        )
    ):
        raise ConfigurationError(f"{credentials.where} has no credentials")


def _paths(kubeconfig: FilePath | None) -> Iterator[Path]:
    """Return the paths of the files. Those of KUBECONFIG need not exist."""
    if kubeconfig is not None:
        yield Path(os.path.expanduser(kubeconfig))
    elif variable := os.environ.get("KUBECONFIG"):
        yield from (Path(each) for each in variable.split(os.pathsep) if os.path.exists(each))
    else:
        yield Path(os.path.expanduser(DEFAULT_PATH))


def _read(path: Path) -> _File:
    content = _decode(path, path.read_bytes())
    if content is None:
        return path, {}
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path}: it is not a kubeconfig")
    return path, content


def _decode(path: Path, data: bytes) -> Any:
    """Return the content of a file in JSON or YAML. Errors have no part of it."""
    try:
        return json.loads(data) if data.strip() else None
    except ValueError:
        pass
    try:
        import yaml
    except ModuleNotFoundError:
        raise ConfigurationError(
            f"{path}: a kubeconfig in YAML needs PyYAML: pip install 'kubeconnect[yaml]', or write "
            "it as JSON with kubectl config view --raw -o json"
        ) from None
    try:
        return yaml.safe_load(data)
    except yaml.YAMLError:
        raise ConfigurationError(f"{path}: it is neither JSON nor YAML") from None


def _current_context(files: Sequence[_File]) -> str:
    for _, content in files:
        if name := content.get("current-context"):
            return str(name)
    paths = ", ".join(str(path) for path, _ in files)
    raise ConfigurationError(f"{paths}: there is no current context: pass context=")


def _entry(
    files: Sequence[_File], section: str, kind: str, name: str
) -> tuple[Path, Mapping[str, Any]]:
    """Return an entry and the path of its file: the first file that has the name."""
    names: list[str] = []
    for path, content in files:
        entries = content.get(section) or ()
        if not all(isinstance(each, dict) for each in entries):
            raise ConfigurationError(f"{path}: {section} must be a list of objects")
        names += (str(each.get("name")) for each in entries)
        found = [each.get(kind) or {} for each in entries if each.get("name") == name]
        if len(found) > 1:
            raise ConfigurationError(f'{path}: there are several {section} named "{name}"')
        if found:
            return path, found[0]
    known = ", ".join(names) or "none"
    paths = ", ".join(str(path) for path, _ in files)
    raise ConfigurationError(f'{paths}: there is no {kind} "{name}"; the {section}: {known}')


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"{where}: {key} must be a string that is not empty")
    return value


def _resolved(path: Path, file: str | None) -> Path | None:
    """Return the path of a file that a kubeconfig names, relative to the folder of that."""
    return path.absolute().parent / file if file else None


def _content(path: Path, user: Mapping[str, Any], key: str, where: str) -> Content | None:
    """Return a certificate or a key. As for kubectl, data takes precedence over a file."""
    if data := user.get(f"{key}-data"):
        try:
            return base64.b64decode(data, validate=True)
        except (ValueError, TypeError):
            raise ConfigurationError(f"{where}: {key}-data is not base64") from None
    return _resolved(path, user.get(key))


def _exec_spec(
    path: Path,
    plugin: Mapping[str, Any],
    where: str,
    files: Sequence[_File],
    context: Mapping[str, Any],
) -> ExecSpec:
    version = str(plugin.get("apiVersion"))
    mode = plugin.get("interactiveMode")
    if mode is None and version == "client.authentication.k8s.io/v1":
        raise ConfigurationError(f"{where}: exec has no interactiveMode, which v1 requires")
    command = _text(plugin, "command", f"{where}: exec")
    return ExecSpec(
        where,
        # A path with a folder is relative to the file; a name is looked up in PATH.
        str(_resolved(path, command)) if os.path.dirname(command) else command,
        args=[str(each) for each in plugin.get("args") or ()],
        env={str(each["name"]): str(each["value"]) for each in plugin.get("env") or ()},
        api_version=version,
        interactive_mode=mode or "IfAvailable",
        install_hint=str(plugin.get("installHint") or ""),
        cluster=_cluster_info(files, context) if plugin.get("provideClusterInfo") else None,
    )


def _cluster_info(files: Sequence[_File], context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of the cluster for a command."""
    path, cluster = _entry(
        files, "clusters", "cluster", _text(context, "cluster", "the context of the exec plugin")
    )
    info = {
        key: cluster[key] for key in ("server", "tls-server-name", "proxy-url") if key in cluster
    }
    info.update(
        (key, True)
        for key in ("insecure-skip-tls-verify", "disable-compression")
        if cluster.get(key)
    )
    authority = _content(path, cluster, "certificate-authority", f"{path}: the cluster")
    if authority is not None:
        info["certificate-authority-data"] = base64.b64encode(read(authority)).decode()
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == _EXEC_EXTENSION:
            info["config"] = extension.get("extension")
    return info
