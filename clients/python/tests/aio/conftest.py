from collections.abc import AsyncIterator

import pytest

from kubeconnect.aio import AsyncClient
from tests.fake import FakeService


@pytest.fixture
async def client(service: FakeService) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service.address) as client:
        yield client
