"""A fake service that stores leases."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from kubeconnect.v1 import object_pb2, read_pb2, write_pb2
from kubeconnect.v1.status_pb2 import Status
from tests.fake import Failure, FakeService, serve

LEASES = object_pb2.Resource(
    group="coordination.k8s.io", version="v1", kind="Lease", plural="leases", namespaced=True
)


@dataclass
class LeaseService(FakeService):
    """Stores one lease, "web" in the namespace "demo", and checks the preconditions of writes."""

    lease: dict[str, Any] | None = None
    version: int = 1
    written: threading.Event = field(default_factory=threading.Event)  # after each write
    other_writer: bool = False  # whether another client writes before each update
    no_namespace: bool = False

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        found = self.lease["spec"]
        assert isinstance(found, dict)
        return found

    def put(self, **spec: Any) -> None:
        """Write the lease as another client does."""
        self.version += 1
        before = self.lease["spec"] if self.lease else {}
        metadata = {"namespace": "demo", "name": "web", "uid": "u1"}
        self.lease = {
            "metadata": {**metadata, "resourceVersion": str(self.version)},
            "spec": {**before, **spec},
        }

    def Get(
        self, request: read_pb2.GetRequest, context: grpc.ServicerContext
    ) -> read_pb2.GetResponse:
        self._begin(request, context)
        if self.lease is None:
            self._not_found(context)
        return read_pb2.GetResponse(resource=LEASES, object=self._object())

    def Create(
        self, request: write_pb2.CreateRequest, context: grpc.ServicerContext
    ) -> write_pb2.CreateResponse:
        self._begin(request, context)
        if self.no_namespace:
            self._not_found(context)
        if self.lease is not None:
            status = Status(reason="AlreadyExists")
            Failure(grpc.StatusCode.ALREADY_EXISTS, "it exists", status).abort(context)
        self.put(**json.loads(request.data)["spec"])
        self.written.set()
        return write_pb2.CreateResponse(resource=LEASES, object=self._object())

    def Update(
        self, request: write_pb2.UpdateRequest, context: grpc.ServicerContext
    ) -> write_pb2.UpdateResponse:
        self._begin(request, context)
        if self.lease is None:
            self._not_found(context)
        if self.other_writer:
            self.put()
        sent = json.loads(request.data)
        if request.preconditions.resource_version != str(self.version):
            Failure(grpc.StatusCode.ABORTED, "it has changed", Status(reason="Conflict")).abort(
                context
            )
        assert sent["metadata"]["resourceVersion"] == str(self.version)
        self.lease = None
        self.put(**sent["spec"])
        self.written.set()
        return write_pb2.UpdateResponse(resource=LEASES, object=self._object())

    def _object(self) -> object_pb2.Object:
        return object_pb2.Object(
            namespace="demo",
            name="web",
            uid="u1",
            resource_version=str(self.version),
            json=json.dumps(self.lease).encode(),
        )

    def _not_found(self, context: grpc.ServicerContext) -> None:
        Failure(grpc.StatusCode.NOT_FOUND, "not found", Status(reason="NotFound")).abort(context)


@contextmanager
def serve_leases() -> Iterator[LeaseService]:
    service = LeaseService()
    with serve(service=service):
        yield service
