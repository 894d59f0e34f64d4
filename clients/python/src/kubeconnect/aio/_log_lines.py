"""The lines of the logs of several pods."""

from __future__ import annotations

from kubeconnect._log_lines import LogLine
from kubeconnect._log_lines_session import LogLinesSession
from kubeconnect.aio._event_stream import AsyncEventStream
from kubeconnect.v1 import log_lines_pb2 as pb


class AsyncLogLines(AsyncEventStream[pb.GetLogLinesRequest, pb.GetLogLinesResponse, LogLine]):
    """The lines of the logs of a selection of pods.

    The lines of one container are in the order of its log. Those that exist when the stream begins
    are in the order of time across all containers; later ones are returned as they arrive. The
    iteration ends with the last log. Followed logs do not end: close them.

    After a lost stream, each log continues after its last line that was received: no line is lost
    or returned twice, as long as the node has the lines.
    """

    _session: LogLinesSession

    @property
    def warnings(self) -> tuple[str, ...]:
        """Human-readable warnings: that the logs cover only some namespaces, and pods for which the
        filter has no value. Empty before the first message.
        """
        return self._session.warnings

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the logs cover, if all were requested and the caller is not allowed
        to read the logs of all of them. Empty if they cover all namespaces, or before the first
        message.
        """
        return self._session.namespaces
