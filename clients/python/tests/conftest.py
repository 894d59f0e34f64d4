from collections.abc import Iterator

import pytest

from tests.fake import FakeService, serve


@pytest.fixture
def service() -> Iterator[FakeService]:
    with serve() as service:
        yield service
