from collections.abc import Callable
from time import monotonic

from kubeconnect._transport.aio import AsyncLatch


async def eventually(condition: Callable[[], object], patience: float = 20) -> None:
    """Wait until the condition is true."""
    end = monotonic() + patience
    while not condition():
        assert monotonic() < end, "it never became true"
        await AsyncLatch().wait(0.005)
