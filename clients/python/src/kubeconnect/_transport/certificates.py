"""Client certificates that are renewed by replacing their files."""

from __future__ import annotations

import ssl
from pathlib import Path

from kubeconnect._transport.files import Content, file_state, read
from kubeconnect._transport.identity import KeyPair


class Certificate:
    """A client certificate and its key, in files, which may be one and the same, or as bytes. Files
    are replaced or rewritten when the certificate is renewed, as the kubelet and cert-manager do.

    Safe for concurrent use by threads, because the state and the pair are one tuple.
    """

    def __init__(self, certificate: Content, key: Content) -> None:
        """Read the files. Raises OSError if they cannot be read, and ValueError if they are not a
        certificate and its key.
        """
        self._certificate, self._key = certificate, key
        state = self._state()
        self._read = state, self._content()

    def pair(self) -> KeyPair:
        """Return the certificate and its key. The files are read again only if they have changed.

        While one of them cannot be read, or they do not match because only one of them has been
        written so far, the last pair is returned.
        """
        known, pair = self._read
        try:
            # The state is read first and last, so that both files are of one moment.
            if (state := self._state()) != known:
                changed = self._content()
                if self._state() == state:
                    self._read, pair = (state, changed), changed
        except (OSError, ValueError):
            pass
        return pair

    @property
    def renewed(self) -> bool:
        """Whether the certificate may be renewed, because it is in files."""
        return bool(self._state())

    def _state(self) -> tuple[int, ...]:
        files = (each for each in (self._certificate, self._key) if isinstance(each, Path))
        return tuple(number for file in files for number in file_state(file))

    def _content(self) -> KeyPair:
        certificate, key = self._certificate, self._key
        pair = KeyPair(read(certificate), read(key))
        if isinstance(certificate, Path) and isinstance(key, Path):
            _check_files(certificate, key)
        else:
            _check_bytes(pair)
        return pair


def _check_files(certificate: Path, key: Path) -> None:
    """Raise ValueError if the files are not a certificate and its key.

    gRPC would report that as Unavailable, with each call.
    """
    try:
        # Without a password OpenSSL would ask for one on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        raise ValueError(
            f"client_certificate {certificate} and client_key {key} must be a certificate and its "
            "key, in PEM and without a password"
        ) from error


def _check_bytes(pair: KeyPair) -> None:
    """Raise ValueError if the bytes are not in PEM. OpenSSL could check more, but only in files, to
    which a key must not be written.
    """
    if (
        b"-----BEGIN CERTIFICATE-----" not in pair.certificate
        or b"PRIVATE KEY-----" not in pair.key
    ):
        raise ValueError("the client certificate and its key must be in PEM")
    if b"ENCRYPTED" in pair.key:
        raise ValueError("the key of the client certificate must have no password")
