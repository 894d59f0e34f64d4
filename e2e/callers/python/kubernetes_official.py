"""A program for Kubernetes' own API that uses the official client.

python kubernetes_official.py KUBECONFIG NAMESPACE GROUP

It prints each step as a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import sys
from collections.abc import Callable
from typing import Any

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer
from kubernetes.stream import portforward, stream
from steps import report

EVENT_SECONDS = 60


def main(kubeconfig: str, namespace: str, group: str) -> None:
    """Make all steps."""
    logging.getLogger("kubernetes").addHandler(logging.NullHandler())  # it logs its own end
    config.load_kube_config(config_file=kubeconfig)
    core = client.CoreV1Api()
    read(core, namespace)
    watch_objects(core, namespace)
    follow(core, namespace)
    fail(core, namespace)
    use_custom_objects(namespace, group)
    use_dynamic_client(namespace, group)
    use_containers(core, namespace)


def read(core: Any, namespace: str) -> None:
    """List objects in pages and by labels, and get one."""
    names: list[str] = []
    token = None
    while token != "":
        page = core.list_namespaced_config_map(namespace, limit=2, _continue=token)
        names += [each.metadata.name for each in page.items]
        token = page.metadata._continue or ""
    report("listed", names=names)
    selected = core.list_namespaced_config_map(namespace, label_selector="app=web")
    report("selected", names=[each.metadata.name for each in selected.items])
    report("got", data=core.read_namespaced_config_map("one", namespace).data)


def config_map(name: str, value: str) -> Any:
    """Return a ConfigMap."""
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data={"a": value})


def watch_objects(core: Any, namespace: str) -> None:
    """Create an object, and watch it from the version of a list."""
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("early", "1"))
    core.patch_namespaced_config_map("early", namespace, {"data": {"a": "2"}})
    core.delete_namespaced_config_map("early", namespace)
    events = []
    for event in watch.Watch().stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=version,
        timeout_seconds=EVENT_SECONDS,
    ):
        events.append(f"{event['type']} {event['object'].metadata.name}")
        if event["type"] == DELETED:
            break
    report("watched", events=events)


def follow(core: Any, namespace: str) -> None:
    """Change an object that an informer follows."""
    informer = SharedInformer(core.list_namespaced_config_map, namespace, label_selector="app!=old")
    seen: queue.Queue[str] = queue.Queue()

    def note(call: str) -> Callable[[Any], None]:
        return lambda each: seen.put(f"{call} {each.metadata.name}")

    for event, call in {ADDED: "add", MODIFIED: "update", DELETED: "delete"}.items():
        informer.add_event_handler(event, note(call))
    informer.start()
    calls = [seen.get(timeout=EVENT_SECONDS) for _ in range(4)]
    core.create_namespaced_config_map(namespace, config_map("watched", "1"))
    calls.append(seen.get(timeout=EVENT_SECONDS))
    followed = informer.cache.get_by_key(f"{namespace}/watched")
    followed.data["a"] = "2"
    updated = core.replace_namespaced_config_map("watched", namespace, followed)
    calls.append(seen.get(timeout=EVENT_SECONDS))
    core.delete_namespaced_config_map("watched", namespace)
    calls.append(seen.get(timeout=EVENT_SECONDS))
    report("followed", calls=calls, data=updated.data, names=names_of(informer.cache.list()))
    informer.stop()


def names_of(objects: list[Any]) -> list[str]:
    """Return the names of objects, in order."""
    return sorted(each.metadata.name for each in objects)


def fail(core: Any, namespace: str) -> None:
    """Make calls that fail."""
    outdated = config_map("one", "9")
    outdated.metadata.resource_version = "1"
    calls: dict[str, Callable[[], object]] = {
        "missing": lambda: core.read_namespaced_config_map("nobody", namespace),
        "forbidden": lambda: core.list_namespaced_secret(namespace),
        "conflict": lambda: core.replace_namespaced_config_map("one", namespace, outdated),
        "exists": lambda: core.create_namespaced_config_map(namespace, config_map("one", "1")),
        "expired": lambda: core.list_namespaced_config_map(namespace, limit=1, _continue="no"),
    }
    for name, call in calls.items():
        try:
            call()
        except ApiException as error:
            status = json.loads(error.body)
            report(name, code=error.status, reason=status["reason"])


def use_custom_objects(namespace: str, group: str) -> None:
    """Create a custom object and change it."""
    custom = client.CustomObjectsApi()
    gadget = {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "mine"}}
    where = (group, "v1", namespace, "gadgets")
    custom.create_namespaced_custom_object(*where, {**gadget, "spec": {"color": "red"}})
    changed = custom.patch_namespaced_custom_object(*where, "mine", {"spec": {"color": "blue"}})
    listed = custom.list_namespaced_custom_object(*where)
    report(
        "custom", spec=changed["spec"], names=[each["metadata"]["name"] for each in listed["items"]]
    )


def use_dynamic_client(namespace: str, group: str) -> None:
    """Find a resource by discovery, and watch its objects until they are deleted."""
    gadgets = dynamic.DynamicClient(client.ApiClient()).resources.get(
        api_version=f"{group}/v1", kind="Gadget"
    )
    events = []
    for event in gadgets.watch(namespace=namespace, timeout=EVENT_SECONDS):
        events.append(f"{event['type']} {event['object'].metadata.name}")
        if event["type"] == DELETED:
            break
        gadgets.delete(name="mine", namespace=namespace)
    report("dynamic", events=events)


def use_containers(core: Any, namespace: str) -> None:
    """Run a command in a container, read its log, and connect to a port."""
    executed = stream(
        core.connect_get_namespaced_pod_exec,
        "one",
        namespace,
        command=["sh", "-c", "cat; exit 3"],
        stdin=True,
        stdout=True,
        stderr=True,
        tty=False,
        _preload_content=False,
    )
    executed.write_stdin("typed\n")
    text = executed.readline_stdout(timeout=EVENT_SECONDS)
    executed.close()
    plain = stream(
        core.connect_get_namespaced_pod_exec,
        "one",
        namespace,
        command=["echo", "hello"],
        stdin=False,
        stdout=True,
        stderr=True,
        tty=False,
        _preload_content=False,
    )
    plain.run_forever(timeout=EVENT_SECONDS)
    report("executed", typed=text, text=plain.read_stdout(), code=plain.returncode)
    report("log", text=core.read_namespaced_pod_log("one", namespace))
    lines = watch.Watch().stream(core.read_namespaced_pod_log, "one", namespace)
    report("followed log", text=next(iter(lines)))
    forward = portforward(
        core.connect_get_namespaced_pod_portforward, "one", namespace, ports="8080"
    )
    with contextlib.closing(forward.socket(8080)) as connection:
        connection.setblocking(True)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: pod\r\n\r\n")
        received = b""
        while part := connection.recv(1024):
            received += part
    report("forwarded", text=received.decode().splitlines()[-1])


if __name__ == "__main__":
    main(*sys.argv[1:])
