"""The client."""

from __future__ import annotations

import os
from types import TracebackType
from typing import NoReturn
from weakref import WeakSet

from kubeconnect._address import Address
from kubeconnect._credentials import Credentials
from kubeconnect._transport.aio import AsyncToken, AsyncTransport
from kubeconnect._transport.options import root_certificates
from kubeconnect.aio._apply import AsyncApply
from kubeconnect.aio._containers import AsyncContainers
from kubeconnect.aio._identity import identity_of
from kubeconnect.aio._live import AsyncLive
from kubeconnect.aio._logs import AsyncLogs
from kubeconnect.aio._operations import AsyncOperations
from kubeconnect.aio._storing import AsyncStoring
from kubeconnect.aio._subscription import CLOSE_SECONDS
from kubeconnect.aio._waits import AsyncWaits

DEFAULT_TIMEOUT = 30.0
"""The default time limit of a call, in seconds."""


class AsyncClient(
    AsyncWaits,
    AsyncApply,
    AsyncOperations,
    AsyncStoring,
    AsyncLive,
    AsyncLogs,
    AsyncContainers,
):
    """A client that reads and writes the objects of any resource of the cluster.

    A resource is named as in kubectl: "pods", "po", "Pod", "deployments.apps". Without a
    namespace, ``list``, ``watch`` and ``count`` cover all namespaces, ``create`` and
    ``update`` use the namespace in the object's metadata, if there is one, and all other
    calls expect a resource without namespaces.

    "All namespaces" means the namespaces that the caller is allowed to list. If these are
    not all namespaces of the cluster, the response lists them in ``namespaces`` and has a
    human-readable warning in ``warnings``. With ``require_all_namespaces`` the call raises
    Forbidden instead, and a watch raises it when the permission is revoked.

    ``label_selector`` and ``field_selector`` work as in kubectl. ``filter`` is a CEL
    expression over ``object``, such as "object.spec.replicas > 3". If the expression has no
    value for an object, because a field is missing, the object matches neither the
    expression nor its negation: test for the field with
    "has(object.status.conditions)". ``related`` selects objects by their relation to another
    object: see ``owned_by``, ``selected_by``, ``about`` and ``owner_of``. An object must
    match all conditions.

    ``fields`` are the paths to return of each object, in kubectl's notation:
    ["metadata.name", "spec.containers[*].image"]. The default is all fields. With
    ``metadata_only`` an object is returned as a PartialObjectMetadata, which has its
    metadata and nothing else.

    A write with ``dry_run`` is validated and admitted but not persisted, and returns the
    result it would have. ``field_manager`` is the manager that owns the written fields, at
    most 128 characters; the default is "kubeconnect". ``uid`` and ``resource_version`` are
    preconditions: if the object does not have them, the write raises Conflict. After
    DeadlineExceeded or Unavailable, the write may or may not have been applied.

    ``field_validation`` is the handling of unknown and duplicate fields: see
    ``FieldValidation``. The default is a warning in the result.

    ``consistency`` is how current a read must be: see ``Consistency``. The default is a read
    from the cache. To read your own write, pass the resource version of its result to a read as
    ``min_resource_version``. The read waits until the cache has reached that version, and
    raises DeadlineExceeded after five seconds.

    A read that is rejected with a retry delay, because a limit is reached, is retried after
    that delay if its ``timeout`` allows. So is a read whose connection is lost, after a short
    delay, unless the service was never reached. A write is not retried, except with ``dry_run``.

    A ``timeout`` is in seconds, and ``math.inf`` means no limit; a timeout that is not more
    than 0 raises ValueError. The default is the client's timeout. A watch and a log have no
    timeout by default. All calls raise subclasses of KubeconnectError: NotFound, Forbidden,
    Unavailable, DeadlineExceeded and others. Calls of a closed client raise Cancelled.
    """

    def __init__(
        self,
        address: str,
        *,
        token: AsyncToken | None = None,
        token_file: str | os.PathLike[str] | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        client_certificate: str | os.PathLike[str] | None = None,
        client_key: str | os.PathLike[str] | None = None,
        kubeconfig: str | os.PathLike[str] | None = None,
        context: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        """Create a client. The connection is opened with the first call.

        ``address`` is "http://host:port", "https://host:port", or "host:port",
        which uses plain text on loopback and TLS everywhere else. ``ca_file`` contains the
        CA certificates, in PEM, that must have signed the service's certificate. The
        default is gRPC's own root certificates.

        ``token`` is sent as a bearer token with each call. It may be a function that
        returns the token, if the token is renewed. The function is called for each call and
        each stream, so it should cache the token while that is valid. Exceptions of the
        function are raised by the calls. ``token_file`` is the path of a file with the
        token, such as one that Kubernetes mounts into a pod. The file is read again when it
        has changed. A call that is rejected as Unauthenticated is retried once if the token
        is a different one by then.

        ``client_certificate`` and ``client_key`` are the paths of a certificate, which may be
        followed by intermediate ones, and of its key without a password, both in PEM. The
        service accepts the client certificates of its cluster. If a token is sent too, the
        token identifies the caller. Unless the service impersonates its callers, a caller with
        a certificate cannot write, and cannot read what is not cached. The files are read again
        when they have changed, for example by cert-manager or the kubelet: later calls and
        streams use another connection with the new certificate. The default is no certificate.

        ``kubeconfig`` and ``context`` are the path of a kubeconfig and the name of one of its
        contexts, whose credentials are sent: a token, a token file, a client certificate, or an
        exec plugin. Without ``kubeconfig`` they are those of the files of KUBECONFIG or of
        ~/.kube/config, and without ``context`` those of the current context. Pass them only for
        a service that may act as you in this cluster. The kubeconfig is read once; the files
        that it names are read again when they have changed. The command of an exec plugin runs
        with the first call, shortly before its credential expires, and when that is rejected.
        A call raises Unavailable if the command fails. Nothing else of the context is used.

        Raises ValueError for an invalid address, for a token that would be sent to another
        host in plain text, for files that have no effect in plain text, for a certificate and
        a key that do not match, and, as ConfigurationError, for a kubeconfig whose credentials
        cannot be used. Raises OSError for a file that cannot be read.
        """
        self._timeout = timeout
        self._followers = WeakSet()
        self._sessions = WeakSet()
        self._address = Address.parse(address)
        credentials = Credentials[AsyncToken](
            token=token,
            token_file=token_file,
            client_certificate=client_certificate,
            client_key=client_key,
            kubeconfig=kubeconfig,
            context=context,
        )
        identity = identity_of(self._address, credentials)
        roots = root_certificates(self._address, ca_file)
        self._transport = AsyncTransport(self._address, identity, roots)

    def __repr__(self) -> str:
        """Return the address of the service."""
        return f"<{type(self).__name__} {self._address}>"

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: a connection can be neither pickled nor copied."""
        name = type(self).__name__
        raise TypeError(f"a {name} cannot be pickled or copied: create one in each process")

    async def __aenter__(self) -> AsyncClient:
        """Return the client."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the client."""
        await self.close()

    async def close(self) -> None:
        """Close the stores, the connections into containers, and the connection. Calls and watches
        then raise Cancelled.
        """
        for follower in list(self._followers):
            await follower.close(CLOSE_SECONDS)
        for session in list(self._sessions):
            await session.close()
        await self._transport.close()
