"""The client that configures itself."""

from __future__ import annotations

import os

from kubeconnect._places import places
from kubeconnect._settings import Place, Settings, choose
from kubeconnect._transport.aio import AsyncToken
from kubeconnect.aio._client import DEFAULT_TIMEOUT, AsyncClient


def connect(
    address: str | None = None,
    *,
    token: AsyncToken | None = None,
    token_file: str | os.PathLike[str] | None = None,
    ca_file: str | os.PathLike[str] | None = None,
    client_certificate: str | os.PathLike[str] | None = None,
    client_key: str | os.PathLike[str] | None = None,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    timeout: float | None = None,
) -> AsyncClient:
    """Return a client that finds the service and the credentials. It uses each setting from the
    first of these places that has it:

    1. The arguments, which are those of ``AsyncClient``. The default of ``timeout`` is 30
       seconds.
    2. The environment: KUBECONNECT_ADDRESS, KUBECONNECT_TOKEN or KUBECONNECT_TOKEN_FILE, and
       KUBECONNECT_CA_FILE, or KUBECONNECT_CONTEXT in place of a token. Empty variables are
       ignored.
    3. In a pod: the token of the pod's service account, if the service is within the cluster: its
       name has no dots, or "svc" as a part, or is loopback. The token's file is read again when
       it has changed. The default address is "https://kubeconnect.kubeconnect.svc". A
       program is in a pod if KUBERNETES_SERVICE_HOST is set and the file exists.
    4. Not in a pod: ``kubeconnect.toml`` in $XDG_CONFIG_HOME, which is ~/.config by default. Its
       keys are address, token, token_file, ca_file, client_certificate, client_key, context,
       kubeconfig and timeout. Paths are relative to the folder of the file.

    If the environment or the file has another address than the one that is used, nothing else
    of it is used, so that no token is sent to a service that it is not for. A token, a client
    certificate and a context are used from one place only: the first that has one of them.

    The credentials of a kubeconfig are used only if a place names the context, or if an argument
    is the path of the kubeconfig, and never because there is nothing else: they are for the
    API server, and a service to which they are sent can act as the user.

    The places of the settings are logged with level DEBUG, without tokens, by the logger
    "kubeconnect". The connection is opened with the first call.

    Raises ConfigurationError, which is a ValueError, if there is no address, or if a setting is
    invalid: an unknown key in the file, for example. Raises ValueError and OSError as
    ``AsyncClient`` does.
    """
    arguments = Settings[AsyncToken](
        address=address,
        token=token,
        token_file=token_file,
        ca_file=ca_file,
        client_certificate=client_certificate,
        client_key=client_key,
        kubeconfig=kubeconfig,
        context=context,
        timeout=timeout,
    )
    address, settings = choose(
        [Place[AsyncToken]("the arguments", arguments, "no address was passed"), *places()]
    )
    return AsyncClient(
        address,
        token=settings.token,
        token_file=settings.token_file,
        ca_file=settings.ca_file,
        client_certificate=settings.client_certificate,
        client_key=settings.client_key,
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        timeout=DEFAULT_TIMEOUT if settings.timeout is None else settings.timeout,
    )
