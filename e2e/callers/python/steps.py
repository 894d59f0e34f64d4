"""Steps with threads or with asyncio, each of which is reported."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from typing import Any


def report(step: str, **fields: Any) -> None:
    """Print the result of a step as a line of JSON."""
    print(json.dumps({"step": step, **fields}), flush=True)


def run(
    by_threads: Callable[..., object], by_asyncio: Callable[..., Coroutine[Any, Any, object]]
) -> None:
    """Make the steps with the other arguments of the program. The first one is "threads" or
    "asyncio".
    """
    way, *arguments = sys.argv[1:]
    if way == "threads":
        by_threads(*arguments)
    else:
        asyncio.run(by_asyncio(*arguments))
