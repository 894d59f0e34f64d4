from kubeconnect.v1 import read_pb2 as _read_pb2
from kubeconnect.v1 import table_pb2 as _table_pb2
from kubeconnect.v1 import watch_pb2 as _watch_pb2
from kubeconnect.v1 import watch_counts_pb2 as _watch_counts_pb2
from kubeconnect.v1 import write_pb2 as _write_pb2
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor
