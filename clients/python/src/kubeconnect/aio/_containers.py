"""The calls of a client that connect to containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from io import BytesIO
from time import monotonic
from typing import IO, TYPE_CHECKING

from kubeconnect._concurrency.aio import AsyncWorkers, run_blocking
from kubeconnect._containers.archives import pack, split_remote, temporary_file, unpack
from kubeconnect._containers.requests import (
    StreamRequest,
    attach_request,
    exec_request,
    port_request,
)
from kubeconnect._containers.results import ExecResult, copy_failed
from kubeconnect._errors import KubeconnectError, Unauthenticated
from kubeconnect._logs import LogStream
from kubeconnect._transport.failures import client_closed
from kubeconnect._transport.files import FilePath
from kubeconnect._transport.identity import Presented
from kubeconnect._transport.options import deadline, limit
from kubeconnect._transport.tracing import trace_context
from kubeconnect.aio._calls import AsyncCalls
from kubeconnect.aio._container_session import AsyncContainerSession
from kubeconnect.aio._port_forward import AsyncPortForward, AsyncPortStream

if TYPE_CHECKING:
    from kubeconnect._containers.aio import AsyncWebSocket

COPY_BYTES = 256 * 1024
"""The size of the parts in which a file is copied."""


class AsyncContainers(AsyncCalls):
    """Commands in containers, their ports and files. They need the package websockets, which
    ``pip install 'kubeconnect[exec]'`` installs, and raise ImportError without it.

    The service passes these connections on to the API server as the caller, who needs the
    permission to create "pods/exec", "pods/attach" or "pods/portforward".
    """

    async def exec(
        self,
        pod: str,
        command: Sequence[str],
        *,
        namespace: str,
        container: str | None = None,
        stdin: bytes | None = None,
        timeout: float | None = None,
    ) -> ExecResult:
        """Run a command in a container, and return its output and its exit code.

        ``command`` is the program and its arguments: ["sh", "-c", "ls | wc -l"] for a shell.
        ``stdin`` is its input; the default is none. ``container`` may be left out if the pod has
        one container. All output is kept in memory: use ``open_exec`` for a
        command that prints much, or that does not end.

        An exit code other than 0 is no error. Raises NotFound if the pod does not exist, Forbidden,
        InvalidArgument if it has no such container, Internal if the program does not exist or the
        node is unreachable, and DeadlineExceeded if the command does not end in time. Whether the
        command is ended then depends on the container runtime.
        """
        seconds = deadline(timeout, self._timeout)
        request = exec_request(
            pod,
            command,
            namespace=namespace,
            container=container,
            stdin=stdin is not None,
            tty=False,
        )
        source = None if stdin is None else BytesIO(stdin)
        return await self._run(request, seconds, source, None)

    def open_exec(
        self,
        pod: str,
        command: Sequence[str],
        *,
        namespace: str,
        container: str | None = None,
        stdin: bool = True,
        tty: bool = False,
        timeout: float | None = None,
    ) -> AsyncContainerSession:
        """Run a command in a container whose input and output are streams.

        With ``tty`` the command has a terminal, whose size ``resize`` sets. ``stdin`` is whether it
        has an input, which remains open until ``close_stdin``. The session raises DeadlineExceeded
        after ``timeout`` seconds; the default is no limit. It raises the other errors of ``exec``
        when it is entered, or when its output is read.
        """
        request = exec_request(
            pod, command, namespace=namespace, container=container, stdin=stdin, tty=tty
        )
        return self._session(request, limit(timeout))

    def attach(
        self,
        pod: str,
        *,
        namespace: str,
        container: str | None = None,
        stdin: bool = False,
        tty: bool = False,
        timeout: float | None = None,
    ) -> AsyncContainerSession:
        """Attach to the main process of a container: to its output from now on and, with ``stdin``,
        to its input.

        ``stdin`` and ``tty`` require that the container has these. The session ends with the main
        process, and is otherwise that of ``open_exec``.
        """
        request = attach_request(
            pod, namespace=namespace, container=container, stdin=stdin, tty=tty
        )
        return self._session(request, limit(timeout))

    def port_forward(
        self,
        pod: str,
        port: int,
        *,
        namespace: str,
        local_port: int = 0,
        on_error: Callable[[KubeconnectError], object] | None = None,
    ) -> AsyncPortForward:
        """Listen on 127.0.0.1, and forward each connection to a port of a pod.

        ``local_port`` is the port to listen on; the default is a free one. The ``address`` of the
        result is where to connect to. The pod is contacted with the first connection: a connection
        that fails is closed, and ``on_error`` is called with its error, such as NotFound or
        Unavailable. The default is a warning of the logger "kubeconnect". Programs of other users
        of this host can connect to the port too.
        """
        request = port_request(pod, port, namespace=namespace)

        def connect() -> AsyncPortStream:
            return self._port_stream(request, port)

        forward = AsyncPortForward(connect, local_port, on_error)
        self._sessions.add(forward)
        return forward

    def open_port(self, pod: str, port: int, *, namespace: str) -> AsyncPortStream:
        """Open one connection to a port of a pod, as a stream.

        Raises NotFound if the pod does not exist, and Forbidden. Its reads raise Unavailable if the
        node cannot connect to the port.
        """
        return self._port_stream(port_request(pod, port, namespace=namespace), port)

    async def copy_to(
        self,
        local: FilePath,
        pod: str,
        remote: str,
        *,
        namespace: str,
        container: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Copy ``local``, a file or a folder with all that it contains, into a container, as
        ``remote``.

        The folder of ``remote`` must exist. Files that exist are replaced, and all others remain.
        Copied files have the present time, and belong to the user of the container. The container
        must have tar. An archive is written to a temporary file first.

        Raises CopyError if tar fails, the errors of ``exec``, and OSError for files of this host.
        ``timeout`` is for the copy in the container; the default is no limit.
        """
        folder, name = split_remote(remote)
        request = exec_request(
            pod,
            ["tar", "-xmf", "-", "-C", folder],
            namespace=namespace,
            container=container,
            stdin=True,
            tty=False,
        )
        with temporary_file() as archive:
            await run_blocking(lambda: pack(local, name, archive))
            result = await self._run(request, limit(timeout), archive, None)
        if result.exit_code != 0:
            raise copy_failed(result)

    async def copy_from(
        self,
        pod: str,
        remote: str,
        local: FilePath,
        *,
        namespace: str,
        container: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Copy ``remote``, a file or a folder with all that it contains, from a container, as
        ``local``.

        Files that exist are replaced, and all others remain. Anything but files and folders is
        skipped with a warning, symbolic links too. The container must have tar. An archive is
        written to a temporary file first, and to ``local`` when it is complete.

        Raises CopyError if tar fails, or if the archive of the container has a path that leaves
        ``local``, the errors of ``exec``, and OSError for files of this host. ``timeout`` is for
        the copy from the container; the default is no limit.
        """
        folder, name = split_remote(remote)
        request = exec_request(
            pod,
            # A name may begin with "-".
            ["tar", "-cf", "-", "-C", folder, name if name == "." else f"./{name}"],
            namespace=namespace,
            container=container,
            stdin=False,
            tty=False,
        )
        with temporary_file() as archive:
            result = await self._run(request, limit(timeout), None, archive)
            if result.exit_code != 0:
                raise copy_failed(result)
            await run_blocking(lambda: unpack(archive, name, local))

    async def _run(
        self,
        request: StreamRequest,
        timeout: float | None,
        stdin: IO[bytes] | None,
        stdout: IO[bytes] | None,
    ) -> ExecResult:
        """Run a command. ``stdout`` is where its output is written, in place of the result."""
        output, errors = bytearray(), bytearray()
        workers = AsyncWorkers()
        async with self._session(request, timeout) as session:

            async def feed() -> None:
                with suppress(KubeconnectError):  # which the reader raises too
                    await _feed(session, stdin)

            if stdin is not None:
                workers.start("kubeconnect stdin", feed)
            try:
                async for chunk in session:
                    if chunk.stream is LogStream.STDERR:
                        errors += chunk.data
                    elif stdout is None:
                        output += chunk.data
                    else:
                        stdout.write(chunk.data)
            finally:
                await session.close()
                await workers.join(cancel=True)
        return ExecResult(bytes(output), bytes(errors), session.exit_code or 0)

    def _session(self, request: StreamRequest, timeout: float | None) -> AsyncContainerSession:
        async def opener(timeout: float | None) -> AsyncWebSocket:
            return await self._open(request, timeout)

        session = AsyncContainerSession(opener, request, timeout)
        self._sessions.add(session)
        return session

    def _port_stream(self, request: StreamRequest, port: int) -> AsyncPortStream:
        async def opener() -> AsyncWebSocket:
            return await self._open(request, None)

        stream = AsyncPortStream(opener, port)
        self._sessions.add(stream)
        return stream

    async def _open(self, request: StreamRequest, timeout: float | None) -> AsyncWebSocket:
        """Open a connection, within the timeout of a call and within ``timeout`` seconds.

        A request that is rejected as unauthenticated is sent again if the credentials are different
        ones by then.
        """
        try:
            from kubeconnect._containers.aio import open_websocket
        except ImportError as error:
            needs = "connections into containers need websockets: pip install 'kubeconnect[exec]'"
            raise ImportError(needs) from error
        transport, begin = self._transport, monotonic()
        default = deadline(None, self._timeout)
        seconds = min((each for each in (timeout, default) if each is not None), default=None)
        trace = trace_context()

        async def attempt(presented: Presented) -> AsyncWebSocket:
            if transport.closed:
                raise client_closed()
            rest = transport.rest(seconds, begin)
            websocket = await open_websocket(
                transport.address,
                transport.roots,
                presented,
                trace,
                request,
                rest,
                self._sessions.add,
            )
            if transport.closed:  # meanwhile
                await websocket.close()
                raise client_closed()
            return websocket

        presented = await transport.present(seconds)
        try:
            return await attempt(presented)
        except Unauthenticated:
            fresh = await transport.renewed(presented, transport.rest(seconds, begin))
            if fresh is None:
                raise
        return await attempt(fresh)


async def _feed(session: AsyncContainerSession, stdin: IO[bytes] | None) -> None:
    """Send a file, and close stdin."""
    while stdin and (data := await run_blocking(partial(stdin.read, COPY_BYTES))):
        await session.write(data)
    await session.close_stdin()
