import json

from kubeconnect.aio import AsyncClient
from kubeconnect.aio._finalizer import AsyncFinalizer
from kubeconnect.k8s.core.v1 import Pod
from kubeconnect.k8s.meta.v1 import ObjectMeta, Time
from tests.fake import FakeService

NAME = "example.com/cleanup"


async def test_finalizes_a_message(client: AsyncClient, service: FakeService) -> None:
    called: list[str] = []
    finalizer = AsyncFinalizer(client, "pods", NAME, lambda pod: called.append(pod.metadata.name))
    metadata = ObjectMeta(
        name="web", namespace="demo", uid="u", resourceVersion="7", finalizers=["other"]
    )
    assert not finalizer.is_due(Pod(metadata=metadata))
    assert not finalizer.protects(Pod(metadata=metadata))
    await finalizer.add(Pod(metadata=metadata))

    metadata.finalizers.append(NAME)
    metadata.deletionTimestamp.CopyFrom(Time(seconds=1))
    assert finalizer.is_due(Pod(metadata=metadata))
    assert await finalizer.finalize(Pod(metadata=metadata)) is None
    assert called == ["web"]
    assert [json.loads(each.data) for each in service.requests] == [
        {"metadata": {"finalizers": ["other", NAME]}},
        {"metadata": {"finalizers": ["other"]}},
    ]
    written = [(each.namespace, each.name, each.preconditions.uid) for each in service.requests]
    assert written == [("demo", "web", "u")] * 2
