"""What the programs of the suite "informer" have in common: their arguments, and what they print.

The only argument is a JSON object, see Settings. A program prints lines of JSON:

- {"step": "call", "handlers": "quick", "call": "update", "name": …, "old": …, "new": …} for each
  call of a handler. An object is its UID and version; "old" is null if the handler does not
  receive it.
- {"step": "store", "objects": {name: object}, "fewest": …} when the content of the
  store has changed and then has not changed for a moment. "fewest" is the smallest number of
  objects that a reader saw since the first of these lines.
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOOK_SECONDS = 0.05
"""The interval at which a program reads its store."""

Version = list[str]
"""The UID and version of an object."""


@dataclass(frozen=True)
class Settings:
    """What a program follows."""

    namespace: str
    label_selector: str | None = None
    way: str = ""
    """"threads" or "asyncio"."""
    address: str = ""
    """The address of the service."""
    kubeconfig: str = ""
    """The path of the kubeconfig of the API server."""
    dump: str | None = None
    """The path of the file from which the store begins, and to which it is dumped at the end."""
    release: str = ""
    """The path of a file until whose creation the handlers "slow" do not return."""

    pause: float = 0.0
    """How many seconds the handlers "slow" take for an update."""

    @classmethod
    def from_arguments(cls) -> Settings:
        """Return the settings of this program."""
        return cls(**json.loads(sys.argv[1]))

    @property
    def released(self) -> bool:
        """Whether the slow handlers may return."""
        return not self.release or Path(self.release).exists()


class Reporter:
    """Prints the lines of a program, from any thread."""

    def __init__(self) -> None:
        """Begin without a content."""
        self._lock = threading.Lock()
        self._printed: dict[str, Version] | None = None
        self._last: dict[str, Version] | None = None
        self._fewest = sys.maxsize

    def call(
        self, handlers: str, call: str, name: str, old: Version | None, new: Version | None
    ) -> None:
        """Print a call of a handler."""
        self._print(step="call", handlers=handlers, call=call, name=name, old=old, new=new)

    def look(self, objects: dict[str, Version]) -> None:
        """Print the content of the store if it is the same as at the last look, and not yet
        printed.
        """
        if self._printed:
            self._fewest = min(self._fewest, len(objects))
        settled, self._last = objects == self._last, objects
        if settled and objects != self._printed:
            self._printed = objects
            self._print(step="store", objects=objects, fewest=self._fewest)

    def _print(self, **fields: Any) -> None:
        with self._lock:
            sys.stdout.write(json.dumps(fields) + "\n")
            sys.stdout.flush()
