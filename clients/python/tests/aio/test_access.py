import pytest

from kubeconnect import AccessCheck, AccessDecision, Identity, Internal
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import access_service_pb2 as pb
from tests.fake import FakeService


async def test_returns_the_identity_of_the_caller(client: AsyncClient) -> None:
    identity = await client.who_am_i()
    assert identity == Identity("ann", None, ("readers",), {"scopes": ("a", "b")})


async def test_returns_a_decision_for_each_question(
    client: AsyncClient, service: FakeService
) -> None:
    list_pods = AccessCheck("list", "pods", namespace="demo")
    scale = AccessCheck("update", "deployments", name="web", subresource="scale")
    decisions = await client.check_access([list_pods, scale])
    assert decisions == (AccessDecision(True, "RBAC"), AccessDecision(False, None))
    assert service.requests == [
        pb.CheckAccessRequest(
            checks=[
                pb.AccessCheck(verb="list", resource="pods", namespace="demo"),
                pb.AccessCheck(
                    verb="update", resource="deployments", name="web", subresource="scale"
                ),
            ]
        )
    ]


async def test_raises_if_there_is_not_one_decision_for_each_question(
    client: AsyncClient, service: FakeService
) -> None:
    service.decisions = 0
    with pytest.raises(Internal):
        await client.check_access([AccessCheck("list", "pods")])


async def test_can_i_asks_for_one_check(client: AsyncClient, service: FakeService) -> None:
    assert await client.can_i("list", "pods", namespace="demo")
    assert not await client.can_i("update", "deployments", name="web", subresource="scale")
    first, second = service.requests
    assert list(first.checks) == [pb.AccessCheck(verb="list", resource="pods", namespace="demo")]
    assert list(second.checks) == [
        pb.AccessCheck(verb="update", resource="deployments", name="web", subresource="scale")
    ]
