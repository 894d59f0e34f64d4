"""Credentials that a command returns: the exec plugins of kubeconfigs.

The protocol is client.authentication.k8s.io, as client-go implements it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import grpc

from kubeconnect._errors import DeadlineExceeded, Unavailable
from kubeconnect._settings import ConfigurationError
from kubeconnect._transport.failures import client_closed
from kubeconnect._transport.identity import KeyPair, Presented
from kubeconnect._transport.tokens import bearer, checked

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
"""The versions of the protocol that are supported."""

EARLY_SECONDS = 30.0
"""The time before its expiration in which a credential is not used any more. It is at most a tenth
of the time for which the credential is valid."""

EXEC_SECONDS = 60.0
"""The time that a command has which cannot ask the user for anything."""

_INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")


@dataclass(frozen=True)
class ExecSpec:
    """The command that returns credentials."""

    where: str
    """The place of the specification, for errors."""
    command: str
    """The path of the program, or a name that is looked up in PATH."""
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables in addition to those of this process."""
    api_version: str = API_VERSIONS[0]
    interactive_mode: str = "IfAvailable"
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = None
    """The cluster to describe to the command; None for a command that does not need it."""


@dataclass(frozen=True)
class ExecCredential:
    """What a command has returned."""

    token: str | None = field(repr=False)
    pair: KeyPair | None = field(repr=False)
    usable_until: datetime | None
    """The time at which to run the command again; None if the credential does not expire."""


class ExecCredentials:
    """The credentials of a command, which runs when they are needed or about to expire. Safe for
    concurrent use by threads, which share a run of the command. It has a thread of its own, so that
    it may take longer than a call waits: the next call receives its credential.
    """

    def __init__(
        self,
        spec: ExecSpec,
        *,
        tls: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    ) -> None:
        """Store the specification. The command runs with the first call of ``get``. Without
        ``tls`` it must return a token, because certificates need TLS.

        Raises ConfigurationError for a specification that is invalid or not supported, and for a
        command that does not exist.
        """
        _check(spec)
        _program(spec)
        self._spec = spec
        self._tls = tls
        self._clock = clock
        self._lock = threading.Lock()  # guards the next two attributes
        self._credential: ExecCredential | None = None
        self._running: Future[ExecCredential] | None = None  # None if the command does not run
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def current(self) -> ExecCredential | None:
        """Return the credential; None if the command has to run."""
        known = self._credential
        if known is None or known.usable_until is None or self._clock() < known.usable_until:
            return known
        return None

    def get(self, timeout: float | None = None) -> ExecCredential:
        """Return the credential, and run the command if necessary, for at most ``timeout`` seconds
        unless it may ask the user for something. Raises DeadlineExceeded after that, Unavailable if
        the command fails or returns no credential, because it may succeed later, and Cancelled if
        the client is closed meanwhile.
        """
        with self._lock:
            if (known := self.current()) is not None:
                return known
            if self._running is None:
                self._running = self._begin()
            run = self._running
        try:
            return run.result(None if self.asks() else timeout)
        except FutureTimeoutError:
            raise DeadlineExceeded(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                self._message(f"did not end within {timeout:.3g} seconds, the timeout of the call"),
            ) from None
        except KeyboardInterrupt:
            self._kill()
            raise

    def asks(self) -> bool:
        """Return whether the command may ask the user for something."""
        return self._spec.interactive_mode != "Never" and _has_terminal()

    def _begin(self) -> Future[ExecCredential]:
        """Run the command in a thread of its own."""
        run: Future[ExecCredential] = Future()

        def work() -> None:
            credential: ExecCredential | None = None
            failure: Exception | None = None
            try:
                credential = self._parse(self._run())
            except Exception as error:
                failure = error
            with self._lock:
                self._credential, self._running = credential or self._credential, None
            if credential is not None:
                run.set_result(credential)
            else:
                run.set_exception(failure)

        threading.Thread(target=work, name="kubeconnect credentials", daemon=True).start()
        return run

    def pair(self) -> KeyPair | None:
        """Return the client certificate of the last credential."""
        return self._credential.pair if self._credential else None

    def discard(self, rejected: Presented) -> None:
        """Forget the credential if it is the one that the service has rejected."""
        with self._lock:
            known = self._credential
            if known is not None and _was_presented(known, rejected):
                self._credential = None

    def close(self) -> None:
        """End the command that is running, and run it no more."""
        self._closed = True
        self._kill()

    def _kill(self) -> None:
        if (process := self._process) is not None:
            _kill(process)

    def _run(self) -> str:
        spec, interactive = self._spec, self._is_interactive()
        if self._closed:
            raise client_closed()
        try:
            process = self._process = subprocess.Popen(
                [_program(spec), *spec.args],
                env={**os.environ, **spec.env, "KUBERNETES_EXEC_INFO": self._info(interactive)},
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,  # stderr is that of this process
                start_new_session=not interactive,  # so that its children can be ended too
                text=True,
            )
        except (OSError, ConfigurationError) as error:
            raise self._error(f"cannot be run: {error}") from error
        output = self._output(process, None if interactive else EXEC_SECONDS)
        if self._closed:
            raise client_closed()
        if process.returncode != 0:
            raise self._error(f"failed with exit code {process.returncode}")
        return output

    def _output(self, process: subprocess.Popen[str], timeout: float | None) -> str:
        """Return what the command prints, and end it if that takes too long."""
        try:
            if self._closed:  # close() ran meanwhile and has not ended this process
                _kill(process)
            return process.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            raise self._error(f"did not end within {EXEC_SECONDS:g} seconds") from None
        except UnicodeDecodeError:
            raise self._error("did not print a valid ExecCredential") from None
        finally:
            self._process = None
            if process.poll() is None:
                _kill(process)
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def _is_interactive(self) -> bool:
        if self._spec.interactive_mode == "Always" and not _has_terminal():
            raise self._error("needs a terminal (interactiveMode: Always)")
        return self.asks()

    def _info(self, interactive: bool) -> str:
        cluster = {} if self._spec.cluster is None else {"cluster": self._spec.cluster}
        info = {
            "apiVersion": self._spec.api_version,
            "kind": "ExecCredential",
            "spec": {**cluster, "interactive": interactive},
        }
        return json.dumps(info)

    def _parse(self, output: str) -> ExecCredential:
        """Return the credential. Errors never contain a part of the output."""
        try:
            returned = json.loads(output)
            status = returned.get("status") or {}
            version = returned["apiVersion"] if returned["kind"] == "ExecCredential" else None
            expires = _time(status.get("expirationTimestamp"))
            token = checked(status["token"]) if status.get("token") else None
            pair = _pair(status)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._error("did not print a valid ExecCredential") from None
        if version != self._spec.api_version:
            raise self._error(f"printed another version than {self._spec.api_version}")
        if token is None and pair is None:
            raise self._error("printed neither a token nor a client certificate")
        if token is None and not self._tls:
            raise self._error("printed a client certificate only, which needs https://")
        return ExecCredential(token, pair, self._usable_until(expires))

    def _usable_until(self, expires: datetime | None) -> datetime | None:
        if expires is None:
            return None
        tenth = max(expires - self._clock(), timedelta()) / 10
        return expires - min(timedelta(seconds=EARLY_SECONDS), tenth)

    def _error(self, problem: str) -> Unavailable:
        return Unavailable(grpc.StatusCode.UNAVAILABLE, self._message(problem))

    def _message(self, problem: str) -> str:
        return f'{self._spec.where}: the command "{self._spec.command}" {problem}'


def _has_terminal() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def _was_presented(credential: ExecCredential, presented: Presented) -> bool:
    metadata = bearer(credential.token) if credential.token else ()
    return metadata == presented.metadata and credential.pair in (None, presented.pair)


def _pair(status: Mapping[str, Any]) -> KeyPair | None:
    certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
    if not certificate and not key:
        return None
    if not certificate or not key:
        raise ValueError("a certificate and its key belong together")
    return KeyPair(certificate.encode(), key.encode())


def _time(text: str | None) -> datetime | None:
    """Return a time of RFC 3339, without fractions of a second."""
    if text is None:
        return None
    time = datetime.fromisoformat(re.sub(r"\.\d+", "", text).replace("Z", "+00:00"))
    if time.tzinfo is None:
        raise ValueError("the time has no time zone")
    return time


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process, and its children if it is the leader of a session."""
    try:
        if os.name == "posix" and os.getsid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass


def _program(spec: ExecSpec) -> str:
    """Return the path of the program."""
    import shutil  # slow to import

    found = shutil.which(spec.command, path={**os.environ, **spec.env}.get("PATH"))
    if found is None:
        hint = f"\n{_without_escapes(spec.install_hint)}" if spec.install_hint else ""
        raise ConfigurationError(
            f'{spec.where}: the command "{spec.command}" does not exist or is not executable{hint}'
        )
    return found


def _without_escapes(text: str) -> str:
    """Return a text without the sequences that control a terminal."""
    return re.sub(r"\x1b(\[[0-?]*[ -/]*[@-~]|.)|[\x00-\x08\x0b-\x1f\x7f]", "", text)


def _check(spec: ExecSpec) -> None:
    if spec.api_version not in API_VERSIONS:
        raise ConfigurationError(
            f"{spec.where}: the version {spec.api_version!r} of exec is not supported: use "
            f"{' or '.join(API_VERSIONS)}"
        )
    if spec.interactive_mode not in _INTERACTIVE_MODES:
        raise ConfigurationError(
            f"{spec.where}: interactiveMode must be {', '.join(_INTERACTIVE_MODES)}, not "
            f"{spec.interactive_mode!r}"
        )
