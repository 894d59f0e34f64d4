"""The TLS settings of WebSockets: those of the client's gRPC connections."""

from __future__ import annotations

import os
import ssl
from contextlib import closing

from kubeconnect._transport.identity import KeyPair

ROOTS_VARIABLE = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"
"""The variable of gRPC with a file of the CA certificates to trust by default."""


def tls_context(roots: bytes | None, pair: KeyPair | None) -> ssl.SSLContext:
    """Return the settings that verify the server's certificate by these CA certificates, by default
    those of the system, and that identify the client by its own certificate, if it has one.
    """
    if roots is not None:
        context = ssl.create_default_context(cadata=roots.decode("ascii", errors="replace"))
    else:
        context = ssl.create_default_context(cafile=os.environ.get(ROOTS_VARIABLE) or None)
    if pair is not None:
        _load(context, pair)
    return context


def _load(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Load a client certificate. OpenSSL reads it from files only, to which a key must not be
    written, and so from pipes.
    """
    if not os.path.isdir("/dev/fd"):
        raise NotImplementedError("client certificates cannot be used for containers on Windows")
    with closing(_Pipe(pair.certificate)) as chain, closing(_Pipe(pair.key)) as key:
        # Without a password OpenSSL would ask for one on the terminal.
        context.load_cert_chain(chain.path, key.path, password="")


class _Pipe:
    """A pipe that has some bytes, and ends after them."""

    def __init__(self, content: bytes) -> None:
        """Open the pipe. Raises OSError if the content does not fit into it."""
        self._reader, writer = os.pipe()
        try:
            os.set_blocking(writer, False)
            if os.write(writer, content) != len(content):
                raise OSError("the client certificate, or its key, is too large")
        except OSError:
            self.close()
            raise
        finally:
            os.close(writer)
        self.path = f"/dev/fd/{self._reader}"

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._reader)
