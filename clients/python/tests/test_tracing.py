"""Tests of programs without OpenTelemetry."""

import subprocess
import sys

from kubeconnect.v1 import watch_pb2
from tests.fake import FakeService, Silence, batch, event

WITHOUT_OPENTELEMETRY = """
import asyncio
import sys

import kubeconnect
from kubeconnect import aio

address = sys.argv[1]


async def with_asyncio():
    async with aio.AsyncClient(address) as client:
        await client.list("pods")
        async with client.watch("pods") as events:
            await anext(events)


with kubeconnect.Client(address) as client:
    client.list("pods")
    with client.watch("pods") as events:
        next(events)
asyncio.run(with_asyncio())
print(*(name for name in sys.modules if name.startswith("opentelemetry")))
"""


def test_programs_without_opentelemetry_import_nothing_of_it(service: FakeService) -> None:
    reset = event(watch_pb2.EVENT_TYPE_RESET, None, "")
    service.play(batch("t1", reset), Silence(), batch("t1", reset), Silence())
    command = [sys.executable, "-c", WITHOUT_OPENTELEMETRY, service.address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
    assert [set(each) & {"traceparent", "tracestate"} for each in service.metadata] == [set()] * 4
