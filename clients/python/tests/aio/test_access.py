import pytest

from kubeconnect import AccessAnswer, AccessQuestion, Identity, Internal
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import access_service_pb2 as pb
from tests.fake import FakeService


async def test_returns_the_identity_of_the_caller(client: AsyncClient) -> None:
    identity = await client.who_am_i()
    assert identity == Identity("ann", None, ("readers",), {"scopes": ("a", "b")})


async def test_returns_an_answer_for_each_question(
    client: AsyncClient, service: FakeService
) -> None:
    list_pods = AccessQuestion("list", "pods", namespace="demo")
    scale = AccessQuestion("update", "deployments", name="web", subresource="scale")
    answers = await client.check_access([list_pods, scale])
    assert answers == (AccessAnswer(True, "RBAC"), AccessAnswer(False, None))
    assert service.requests == [
        pb.CheckAccessRequest(
            questions=[
                pb.AccessQuestion(verb="list", resource="pods", namespace="demo"),
                pb.AccessQuestion(
                    verb="update", resource="deployments", name="web", subresource="scale"
                ),
            ]
        )
    ]


async def test_raises_if_there_is_not_one_answer_for_each_question(
    client: AsyncClient, service: FakeService
) -> None:
    service.answers = 0
    with pytest.raises(Internal):
        await client.check_access([AccessQuestion("list", "pods")])


async def test_can_i_asks_one_question(client: AsyncClient, service: FakeService) -> None:
    assert await client.can_i("list", "pods", namespace="demo")
    assert not await client.can_i("update", "deployments", name="web", subresource="scale")
    first, second = service.requests
    assert list(first.questions) == [
        pb.AccessQuestion(verb="list", resource="pods", namespace="demo")
    ]
    assert list(second.questions) == [
        pb.AccessQuestion(verb="update", resource="deployments", name="web", subresource="scale")
    ]
