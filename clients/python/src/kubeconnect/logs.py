"""What to read of a log."""

from __future__ import annotations

import enum
import math
from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from kubeconnect.v1 import pod_service_pb2 as pb


class LogStream(enum.Enum):
    """Which output of a container."""

    ALL = pb.LOG_STREAM_UNSPECIFIED
    """Both, as they were written."""
    STDOUT = pb.LOG_STREAM_STDOUT
    """The standard output alone. Where the cluster does not offer that, it refuses."""
    STDERR = pb.LOG_STREAM_STDERR
    """The standard error alone; the same holds."""


def since(time: datetime | None) -> Timestamp | None:
    """Return the whole second that a log is to begin at."""
    return None if time is None else Timestamp(seconds=math.floor(time.timestamp()))
