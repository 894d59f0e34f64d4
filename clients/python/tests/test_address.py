import pytest

from kubeconnect._address import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://127.0.0.1:8080", Address("127.0.0.1", 8080, tls=False)),
        ("http://example.com", Address("example.com", 80, tls=False)),
        ("https://example.com/", Address("example.com", 443, tls=True)),
        ("https://localhost:8443", Address("localhost", 8443, tls=True)),
        ("localhost:8080", Address("localhost", 8080, tls=False)),
        ("[::1]:8080", Address("::1", 8080, tls=False)),
        ("example.com:8443", Address("example.com", 8443, tls=True)),
    ],
)
def test_is_read(text: str, address: Address) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://",
        ":8080",
        "ftp://example.com",
        "http://example.com:port",
        "http://example.com:99999",
        "http://user:s3cret@example.com",
        "http://user:s3cret",
        "http://example.com/path",
        "http://example.com?query",
        "http://example.com#fragment",
        "http://[::1",
    ],
)
def test_is_rejected_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match=r"^invalid address: ") as caught:
        Address.parse(text)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_is_this_host(host: str) -> None:
    assert Address(host, 80, tls=False).loopback


@pytest.mark.parametrize("host", ["localhost.example.com", "0.0.0.0", "::", "10.0.0.1", "127.1"])
def test_other_hosts_are_not_loopback(host: str) -> None:
    assert not Address(host, 80, tls=False).loopback


def test_ipv6_is_bracketed_for_grpc() -> None:
    assert Address("::1", 80, tls=False).target == "dns:///[::1]:80"
