import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kubeconnect import Client, ConfigurationError, connect
from kubeconnect import _places as places
from kubeconnect._settings import Place, Settings, choose
from tests.fake import FakeService, serve

LOCAL = "http://127.0.0.1:1"
Write = Callable[[str], Path]


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the environment and the files of the host."""
    for name in [*os.environ]:
        if name.startswith(("KUBECONNECT_", "KUBERNETES_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(places, "POD_TOKEN_FILE", tmp_path / "pod-token")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes the user's file."""

    def write(text: str) -> Path:
        path = tmp_path / "kubeconnect.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def in_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a pod, and return the path of its token."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    path = tmp_path / "pod-token"
    path.write_text("t-pod\n")
    return path


def chosen(**arguments: str) -> tuple[str, Settings[str]]:
    return choose([Place("the arguments", Settings(**arguments), "none passed"), *places.places()])  # type: ignore[arg-type]


def test_arguments_are_used_first(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    monkeypatch.setenv("KUBECONNECT_TOKEN", "t-environment")
    monkeypatch.setenv("KUBECONNECT_CA_FILE", "environment.pem")
    write('token = "t-file"\ntimeout = 5')
    assert chosen(address="https://a", token="t-argument", ca_file="argument.pem") == (
        "https://a:443",
        Settings(address="https://a", token="t-argument", ca_file="argument.pem", timeout=5.0),
    )


def test_environment_is_used_before_the_file(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    monkeypatch.setenv("KUBECONNECT_ADDRESS", "https://a")
    monkeypatch.setenv("KUBECONNECT_TOKEN_FILE", "/token")
    monkeypatch.setenv("KUBECONNECT_CA_FILE", "/ca.pem")
    write('address = "https://b"\ntoken = "t-file"')
    assert chosen() == (
        "https://a:443",
        Settings(address="https://a", token_file="/token", ca_file="/ca.pem"),
    )


def test_empty_variables_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONNECT_ADDRESS", "https://a\n")
    monkeypatch.setenv("KUBECONNECT_TOKEN", "")
    monkeypatch.setenv("KUBECONNECT_CA_FILE", " ")
    assert chosen() == ("https://a:443", Settings(address="https://a"))


def test_a_pod_uses_its_token_and_the_service_of_the_chart(in_pod: Path, write: Write) -> None:
    write('address = "https://b"')
    assert chosen() == (
        "https://kubeconnect.kubeconnect.svc:443",
        Settings(address="https://kubeconnect.kubeconnect.svc", token_file=in_pod),
    )


def test_a_pod_uses_the_address_of_the_environment(
    in_pod: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONNECT_ADDRESS", "https://a:8443")
    assert chosen() == ("https://a:8443", Settings(address="https://a:8443", token_file=in_pod))


@pytest.mark.parametrize(
    ("address", "used"),
    [
        ("https://kc", True),
        ("https://kc.tools.svc", True),
        ("https://kc.tools.svc.corp.example", True),
        ("http://127.0.0.1:8080", True),
        ("https://kc.example.com", False),
        ("https://10.0.0.7:8443", False),
        ("https://[2001:db8::1]:8443", False),
    ],
)
def test_the_token_of_a_pod_does_not_leave_the_cluster(
    in_pod: Path, address: str, used: bool
) -> None:
    assert chosen(address=address)[1].token_file == (in_pod if used else None)


def test_credentials_are_used_from_one_place(in_pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = {"client_certificate": "c.pem", "client_key": "k.pem"}
    assert chosen(address="https://a", **pair)[1].token_file is None
    monkeypatch.setenv("KUBECONNECT_CONTEXT", "prod")
    assert chosen(address="https://a")[1] == Settings(address="https://a", context="prod")
    assert chosen(address="https://a", token="t")[1].context is None
    assert chosen(address="https://a", kubeconfig="k")[1].context is None


def test_a_context_is_of_the_address_of_its_place(
    monkeypatch: pytest.MonkeyPatch, write: Write, tmp_path: Path
) -> None:
    write('address = "https://a"\ncontext = "prod"\nkubeconfig = "config"')
    used = Settings[str](address="https://a", context="prod", kubeconfig=tmp_path / "config")
    assert chosen() == ("https://a:443", used)
    assert chosen(address="https://b")[1] == Settings(address="https://b")
    monkeypatch.setenv("KUBECONNECT_ADDRESS", "https://c")
    monkeypatch.setenv("KUBECONNECT_CONTEXT", "test")
    assert chosen()[1] == Settings(address="https://c", context="test")
    assert chosen(address="https://a")[1] == used


def test_a_kubeconfig_is_not_used_unless_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / ".kube/config"
    kubeconfig.parent.mkdir()
    context = {"name": "prod", "context": {"user": "ann"}}
    user = {"name": "ann", "user": {"token": "s3cret"}}
    content = {"current-context": "prod", "contexts": [context], "users": [user]}
    kubeconfig.write_text(json.dumps(content))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    with serve() as service:
        for arguments in ({}, {"context": "prod"}, {"kubeconfig": str(kubeconfig)}):
            with connect(service.address, **arguments) as client:  # type: ignore[arg-type]
                client.who_am_i()
    sent = [each.get("authorization") for each in service.metadata]
    assert sent == [None, "Bearer s3cret", "Bearer s3cret"]


def test_a_place_with_another_address_is_not_used(
    monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    monkeypatch.setenv("KUBECONNECT_ADDRESS", "https://a")
    monkeypatch.setenv("KUBECONNECT_TOKEN", "t-environment")
    write('address = "https://b"\ntoken = "t-file"\nca_file = "ca.pem"\ntimeout = 5')
    assert chosen(address="https://c")[1] == Settings(address="https://c")
    assert chosen(address="a:443")[1].token == "t-environment"
    assert chosen(address="https://b:443")[1].token == "t-file"


def test_a_ca_file_is_not_used_in_plain_text_unless_it_is_an_argument(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBECONNECT_CA_FILE", "/ca.pem")
    assert chosen(address=LOCAL)[1].ca_file is None
    with pytest.raises(ValueError, match="ca_file has no effect over plain text"):
        connect(LOCAL, ca_file="/ca.pem")


def test_paths_in_the_file_are_relative_to_its_folder(tmp_path: Path, write: Write) -> None:
    write('address = "https://b"\ntoken_file = "~/token"\nca_file = "ca.pem"\ntimeout = inf')
    settings = chosen()[1]
    assert settings.token_file == Path.home() / "token"
    assert settings.ca_file == tmp_path / "ca.pem"
    assert settings.timeout == float("inf")


def test_the_file_has_a_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("", "relative"):
        monkeypatch.setenv("XDG_CONFIG_HOME", folder)
        assert places.file_path() == tmp_path / ".config/kubeconnect.toml"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("adress = 's3cret'", 'unknown key "adress": use address, ', id="unknown key"),
        pytest.param("[token]", "token must be a string", id="table"),
        pytest.param("token = 12345", "token must be a string", id="number"),
        pytest.param("ca_file = ''", "ca_file must be a string that is not empty", id="empty"),
        pytest.param("timeout = 's3cret'", "timeout must be more than 0 seconds", id="text"),
        pytest.param("timeout = 0", "timeout must be more than 0 seconds", id="zero"),
        pytest.param("timeout = nan", "timeout must be more than 0 seconds", id="nan"),
        pytest.param("timeout = true", "timeout must be more than 0 seconds", id="boolean"),
        pytest.param("token: s3cret", "invalid TOML: ", id="not TOML"),
        pytest.param("address = 'https://s3cret@a'", "invalid address: ", id="address"),
        pytest.param(
            "address = 'https://a'\ntoken = 's3cret'\ntoken_file = 'token'",
            "token and token_file are mutually exclusive",
            id="two tokens",
        ),
        pytest.param("kubeconfig = 's3cret'", "kubeconfig needs context", id="no context"),
        pytest.param("context = 1", "context must be a string", id="context"),
        pytest.param(
            "address = 'https://a'\ntoken = 's3cret'\ncontext = 'prod'",
            "token and context are mutually exclusive",
            id="token and context",
        ),
        pytest.param(
            "address = 'https://a'\nclient_certificate = 's3cret'\ncontext = 'prod'",
            "context and client_certificate are mutually exclusive",
            id="certificate and context",
        ),
        pytest.param(
            "address = 'http://a'\ncontext = 'prod'",
            "the token is not sent over plain text to http://a:80",
            id="context in plain text",
        ),
        pytest.param(
            "address = 'http://a'\ntoken = 's3cret'",
            "the token is not sent over plain text to http://a:80",
            id="plain text",
        ),
    ],
)
def test_errors_name_the_file_but_no_value(write: Write, text: str, error: str) -> None:
    path = write(text)
    with pytest.raises(ConfigurationError) as caught:
        connect()
    assert str(caught.value).startswith(f"{path}: {error}")
    assert "s3cret" not in str(caught.value)


def test_an_invalid_address_of_the_environment_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONNECT_ADDRESS", "https://")
    with pytest.raises(ConfigurationError, match="the environment: invalid address: "):
        connect()


def test_without_an_address_the_error_lists_the_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    path = tmp_path / "kubeconnect.toml"
    with pytest.raises(ConfigurationError) as caught:
        connect()
    assert str(caught.value) == (
        "no address of the service found: no address was passed; KUBECONNECT_ADDRESS is not set; "
        f"not in a cluster (KUBERNETES_SERVICE_HOST is not set); {path} does not exist"
    )
    write("timeout = 5")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(ConfigurationError) as caught:
        connect()
    assert str(caught.value).endswith(f"{tmp_path}/pod-token does not exist; {path} has no address")


def test_the_log_has_the_place_of_each_setting(
    in_pod: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "kubeconnect")
    monkeypatch.setenv("KUBECONNECT_ADDRESS", LOCAL)
    connect(timeout=5).close()
    monkeypatch.setenv("KUBECONNECT_TOKEN", "s3cret")
    connect().close()
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    connect("127.0.0.1:2").close()
    assert caplog.messages == [
        f"connect: address {LOCAL} from the environment, token_file {in_pod} from the pod, "
        "timeout 5 from the arguments",
        f"connect: address {LOCAL} from the environment, token from the environment",
        "connect: address http://127.0.0.1:2 from the arguments, no credentials, "
        f"the environment is for {LOCAL} and not used",
    ]
    assert "s3cret" not in repr(Settings(token="s3cret"))


def test_a_client_has_the_settings(write: Write, service: FakeService) -> None:
    write(f'address = "{service.address}"\ntoken = "t1"\ntimeout = 7')
    with connect() as client:
        assert isinstance(client, Client)
        assert repr(client) == f"<Client {service.address}>"
        assert client.who_am_i().username == "ann"
    assert service.metadata[0]["authorization"] == "Bearer t1"
    assert client._timeout == 7
