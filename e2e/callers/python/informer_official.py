"""A program of the suite "informer" that follows ConfigMaps in the informer of the official client.

The handlers of that informer do not receive the earlier state of a changed object.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from informer_report import LOOK_SECONDS, Reporter, Settings, Version
from kubernetes import client, config
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer


def version_of(obj: Any) -> Version:
    """Return the UID and version of an object."""
    return [obj.metadata.uid, obj.metadata.resource_version]


def handler(
    reporter: Reporter, handlers: str, call: str, released: Callable[[], bool]
) -> Callable[[Any], None]:
    """Return a handler that reports its calls, and returns when it is released."""

    def on_event(obj: Any) -> None:
        while not released():
            time.sleep(LOOK_SECONDS)
        version = version_of(obj)
        old, new = (version, None) if call == "delete" else (None, version)
        reporter.call(handlers, call, obj.metadata.name, old, new)

    return on_event


def main(settings: Settings) -> None:
    """Follow the ConfigMaps until the program is ended."""
    logging.getLogger("kubernetes").addHandler(logging.NullHandler())  # it logs each attempt
    config.load_kube_config(config_file=settings.kubeconfig)
    reporter = Reporter()
    informer = SharedInformer(
        client.CoreV1Api().list_namespaced_config_map,
        namespace=settings.namespace,
        label_selector=settings.label_selector,
    )

    def at_once() -> bool:
        return True

    calls = {ADDED: "add", MODIFIED: "update", DELETED: "delete"}
    for event, call in calls.items():
        released = (lambda: settings.released) if event == MODIFIED else at_once
        informer.add_event_handler(event, handler(reporter, "quick", call, at_once))
        informer.add_event_handler(event, handler(reporter, "slow", call, released))
    informer.start()
    while True:
        objects = informer.cache.list()
        reporter.look({each.metadata.name: version_of(each) for each in objects})
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    # The informer may be within a handler or within a read, which cannot be ended.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    main(Settings.from_arguments())
