"""Tests of the credentials of kubeconfigs, without a service."""

import base64
import builtins
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeconnect import ConfigurationError
from kubeconnect._kubeconfig import ContextCredentials, context_credentials

DATA = base64.b64encode(b"s3cret").decode()
EXEC = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "login",
    "interactiveMode": "Never",
}


def content(user: dict[str, Any] | None, name: str = "prod") -> dict[str, Any]:
    """Return a kubeconfig with one context."""
    cluster = {
        "server": "https://prod.example.com:6443",
        "certificate-authority-data": DATA,
        "tls-server-name": "prod",
        "extensions": [
            {"name": "other", "extension": {"a": 1}},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}},
        ],
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-user"}}],
        "users": [{"name": f"{name}-user", "user": user}],
    }


def write(folder: Path, user: dict[str, Any] | None, name: str = "prod") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(content(user, name)))
    return path


def of(folder: Path, user: dict[str, Any] | None) -> ContextCredentials:
    return context_credentials(write(folder, user), None)


def test_a_token(tmp_path: Path) -> None:
    found = of(tmp_path, {"token": "s3cret"})
    assert found.token == "s3cret"
    assert "s3cret" not in repr(found)


def test_files_are_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        {"tokenFile": "token", "client-certificate": "c.pem", "client-key": "/keys/k.pem"},
    )
    assert found.token_file == tmp_path / "token"
    assert (found.certificate, found.key) == (tmp_path / "c.pem", Path("/keys/k.pem"))


def test_data_takes_precedence_over_files(tmp_path: Path) -> None:
    pair = {"client-certificate": "c.pem", "client-key": "k.pem"}
    found = of(tmp_path, {**pair, "client-certificate-data": DATA, "client-key-data": DATA})
    assert (found.certificate, found.key) == (b"s3cret", b"s3cret")
    assert "s3cret" not in repr(found)


def test_an_exec_plugin(tmp_path: Path) -> None:
    env = [{"name": "PROFILE", "value": "s3cret"}]
    command = of(tmp_path, {"exec": {**EXEC, "args": ["-v", 1], "env": env}}).command
    assert command is not None
    assert (command.command, command.args, command.env) == (
        "login",
        ["-v", "1"],
        {"PROFILE": "s3cret"},
    )
    assert (command.interactive_mode, command.cluster) == ("Never", None)
    assert "s3cret" not in repr(command)


def test_the_folder_of_a_command_is_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    command = of(tmp_path, {"exec": {**EXEC, "command": "./bin/login"}}).command
    assert command is not None
    assert command.command == str(tmp_path / "bin/login")


def test_v1beta1_has_a_default_mode(tmp_path: Path) -> None:
    version = "client.authentication.k8s.io/v1beta1"
    command = of(tmp_path, {"exec": {"apiVersion": version, "command": "login"}}).command
    assert command is not None
    assert (command.api_version, command.interactive_mode) == (version, "IfAvailable")


def test_a_plugin_may_need_the_cluster(tmp_path: Path) -> None:
    command = of(tmp_path, {"exec": {**EXEC, "provideClusterInfo": True}}).command
    assert command is not None
    assert command.cluster == {
        "server": "https://prod.example.com:6443",
        "certificate-authority-data": DATA,
        "tls-server-name": "prod",
        "config": {"audience": "x"},
    }


def test_a_context_is_chosen_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [write(tmp_path, {"token": f"t-{name}"}, name) for name in ("prod", "test")]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, [tmp_path / "none", *files])))
    assert context_credentials(None, None).token == "t-prod"
    assert context_credentials(None, "test").token == "t-test"
    assert context_credentials(files[1], None).token == "t-test"


def test_the_first_file_with_a_name_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    user = {"name": "prod-user", "user": {"tokenFile": "t"}}
    first.mkdir()
    (first / "config").write_text(json.dumps({"users": [user], "contexts": None}))
    second.mkdir()
    path = write(second, {"token": "t-second", "client-key": "k.pem"})
    monkeypatch.setenv("KUBECONFIG", f"{first / 'config'}{os.pathsep}{path}")
    found = context_credentials(None, None)
    assert (found.token, found.token_file, found.key) == (None, first / "t", None)


def test_the_default_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        context_credentials(None, None)
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text(yaml.safe_dump(content({"token": "t1"})))
    assert context_credentials(None, None).token == "t1"
    assert context_credentials("~/.kube/config", None).token == "t1"


def test_json_needs_no_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without_yaml(name: str, *arguments: Any) -> Any:
        if name == "yaml":
            raise ModuleNotFoundError(name)
        return imported(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    path = tmp_path / "config"
    path.write_text(json.dumps(content({"token": "t1"})))
    assert context_credentials(path, None).token == "t1"
    with pytest.raises(
        ConfigurationError, match=r"needs PyYAML: pip install 'kubeconnect\[yaml\]'"
    ):
        of(tmp_path, {"token": "t1"})


@pytest.mark.parametrize(
    ("user", "error"),
    [
        (None, "has no credentials"),
        ({"username": "ann", "password": "s3cret"}, "basic authentication is not supported"),
        ({"auth-provider": {"name": "gcp"}}, "use an exec plugin"),
        ({"token": "s3cret", "as": "root"}, "impersonation is not supported"),
        ({"token": "s3cret", "as-groups": ["root"]}, "impersonation is not supported"),
        ({"token": 12345}, "token must be a string"),
        ({"client-key-data": DATA}, "client-certificate and client-key belong together"),
        ({"client-key-data": "s3cret"}, "client-key-data is not base64"),
        ({"exec": {**EXEC, "command": None}}, "exec: command must be a string"),
        ({"exec": {**EXEC, "interactiveMode": None}}, "interactiveMode, which v1 requires"),
        ({"exec": {**EXEC, "env": [{"value": "s3cret"}]}}, "not a valid kubeconfig"),
        ({"exec": ["s3cret"]}, "not a valid kubeconfig"),
    ],
)
def test_errors_name_the_file_but_no_credential(
    tmp_path: Path, user: dict[str, Any] | None, error: str
) -> None:
    with pytest.raises(ConfigurationError, match=error) as caught:
        of(tmp_path, user)
    assert str(tmp_path / "prod.yaml") in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("token: [s3cret", "neither JSON nor YAML"),
        ("s3cret", "not a kubeconfig"),
        ("", "no current context"),
        ("current-context: prod", 'no context "prod"; the contexts: none'),
        ("contexts: [s3cret]\ncurrent-context: prod", "contexts must be a list of objects"),
    ],
)
def test_an_invalid_file_is_an_error(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=error) as caught:
        context_credentials(path, None)
    assert str(path) in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_an_unknown_name_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, {"token": "t1"})
    with pytest.raises(ConfigurationError, match='no context "pord"; the contexts: prod'):
        context_credentials(path, "pord")
    twice = content({"token": "t1"})
    twice["users"] *= 2
    path.write_text(yaml.safe_dump(twice))
    with pytest.raises(ConfigurationError, match='several users named "prod-user"'):
        context_credentials(path, None)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(ConfigurationError, match="KUBECONFIG names no file that exists"):
        context_credentials(None, None)
