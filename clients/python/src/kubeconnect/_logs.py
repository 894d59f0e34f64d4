"""Parameters of log reads."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Literal, TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp

from kubeconnect._choices import Choice
from kubeconnect.v1 import pod_service_pb2 as pb


class LogStream(Choice):
    """The output stream of a container. The strings are accepted too: ``stream="stderr"``."""

    ALL = "all", pb.LOG_STREAM_UNSPECIFIED
    """Standard output and standard error, interleaved as they were written."""
    STDOUT = "stdout", pb.LOG_STREAM_STDOUT
    """Standard output only. Clusters that do not support this reject the call."""
    STDERR = "stderr", pb.LOG_STREAM_STDERR
    """Standard error only. Clusters that do not support this reject the call."""


LogStreamLike: TypeAlias = LogStream | Literal["all", "stdout", "stderr"]


def since(time: datetime | None) -> Timestamp | None:
    """Return the time that a log begins at, rounded down to a whole second."""
    return None if time is None else Timestamp(seconds=math.floor(time.timestamp()))
