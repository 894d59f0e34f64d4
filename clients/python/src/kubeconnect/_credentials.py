"""The credentials of a client: its arguments, or those of a context of a kubeconfig."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from kubeconnect._address import Address
from kubeconnect._settings import ConfigurationError
from kubeconnect._transport.certificates import Certificate
from kubeconnect._transport.files import FilePath
from kubeconnect._transport.options import check_tls
from kubeconnect._transport.tokens import TokenFile, check_confidential, checked

if TYPE_CHECKING:
    from kubeconnect._exec_credentials import ExecCredentials
    from kubeconnect._kubeconfig import ContextCredentials

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, kw_only=True)
class Credentials(Generic[T_co]):
    """The arguments of a client that identify the caller."""

    token: T_co | None = field(default=None, repr=False)
    token_file: FilePath | None = None
    client_certificate: FilePath | None = None
    client_key: FilePath | None = None
    kubeconfig: FilePath | None = None
    context: str | None = None

    def check(self) -> None:
        """Raise ValueError for arguments that exclude each other, or that need each other."""
        if self.token is not None and self.token_file is not None:
            raise ValueError("token and token_file are mutually exclusive: pass one of them")
        if (self.client_certificate is None) != (self.client_key is None):
            raise ValueError("client_certificate and client_key belong together: pass both")
        others = (self.token, self.token_file, self.client_certificate)
        if self.of_kubeconfig and any(each is not None for each in others):
            raise ValueError(
                "kubeconfig and context have the credentials: pass no others, or neither of both"
            )

    @property
    def of_kubeconfig(self) -> bool:
        """Whether the credentials are those of a kubeconfig."""
        return self.kubeconfig is not None or self.context is not None


@dataclass(frozen=True)
class Sources(Generic[T_co]):
    """Where the parts of an identity come from."""

    token: T_co | TokenFile | None = None
    certificate: Certificate | None = None
    command: ExecCredentials | None = None

    @property
    def renewed(self) -> bool:
        """Whether some of the credentials may be renewed."""
        files = self.certificate is not None and self.certificate.renewed
        return callable(self.token) or isinstance(self.token, TokenFile) or files


def sources(address: Address, credentials: Credentials[T_co]) -> Sources[T_co | str]:
    """Return the sources of an identity, and read all files.

    Raises ValueError for credentials that are invalid or cannot be used with the address, and
    OSError for a file that cannot be read.
    """
    credentials.check()
    if credentials.of_kubeconfig:
        from kubeconnect._kubeconfig import context_credentials  # slow to import

        found = context_credentials(credentials.kubeconfig, credentials.context)
        return _of_context(address, found)
    if credentials.token is not None or credentials.token_file is not None:
        check_confidential(address)
    file = None if credentials.token_file is None else TokenFile(credentials.token_file)
    certificate = None
    if credentials.client_certificate is not None and credentials.client_key is not None:
        check_tls(address, "client_certificate")
        certificate = Certificate(
            Path(credentials.client_certificate), Path(credentials.client_key)
        )
    return Sources(file or credentials.token, certificate)


def _of_context(address: Address, found: ContextCredentials) -> Sources[str]:
    from kubeconnect._exec_credentials import ExecCredentials  # slow to import

    check_confidential(address)
    try:
        token = TokenFile(found.token_file) if found.token_file else found.token
        if isinstance(token, str):
            checked(token)
        certificate = None
        if found.certificate is not None and found.key is not None:
            check_tls(address, "a client certificate")
            certificate = Certificate(found.certificate, found.key)
    except ValueError as error:
        raise ConfigurationError(f"{found.where}: {error}") from None
    # A token takes precedence over a command, as for kubectl.
    needed = found.command is not None and token is None
    command = ExecCredentials(found.command, tls=address.tls) if found.command and needed else None
    return Sources(token, certificate, command)
