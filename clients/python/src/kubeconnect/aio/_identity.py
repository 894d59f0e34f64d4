"""The identity of a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubeconnect._address import Address
from kubeconnect._concurrency.aio import run_blocking
from kubeconnect._credentials import Credentials, sources
from kubeconnect._transport.aio import AsyncToken, SentToken
from kubeconnect._transport.certificates import Certificate
from kubeconnect._transport.identity import Identity
from kubeconnect._transport.tokens import TokenFile, token_function, without_timeout

if TYPE_CHECKING:
    from kubeconnect._exec_credentials import ExecCredentials


def identity_of(address: Address, credentials: Credentials[AsyncToken]) -> Identity[SentToken]:
    """Return the identity of a client that has these credentials. All files are read.

    Raises ValueError for credentials that are invalid or cannot be used with the address, and
    OSError for a file that cannot be read.
    """
    found = sources(address, credentials)
    if found.command is not None:
        return _of_command(found.command, found.certificate)
    token = found.token.token if isinstance(found.token, TokenFile) else found.token
    return Identity(
        token=None if token is None else without_timeout(token_function(token)),
        pair=found.certificate.pair if found.certificate else lambda: None,
        renews=found.renewed,
    )


def _of_command(command: ExecCredentials, certificate: Certificate | None) -> Identity[SentToken]:
    async def token(timeout: float | None) -> str | None:
        credential = command.current()
        if credential is None:
            credential = await run_blocking(lambda: command.get(timeout))
        return credential.token

    return Identity(
        token=token,
        pair=certificate.pair if certificate else command.pair,
        renews=True,
        asks=command.asks,
        discard=command.discard,
        close=command.close,
    )
