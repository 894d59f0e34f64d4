"""Tests of the messages of kubeconnect.k8s, with the examples of k8s.io/api in the module cache.

An example has a value in each field of a kind, in JSON and in the API server's protobuf form.
"""

import importlib
import json
import pickle
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-not-found]

import builtin_kinds
import kubeconnect.k8s
from kubeconnect._kinds import find_kind
from kubeconnect.k8s import GroupVersionKind, kind_of
from kubeconnect.k8s.apps.v1 import Deployment, DeploymentSpec
from kubeconnect.k8s.core.v1 import Container, Pod, PodSpec, PodTemplateSpec, Volume
from kubeconnect.k8s.helpers import to_dict
from kubeconnect.k8s.meta.v1 import ObjectMeta
from kubeconnect.k8s.rbac.v1 import ClusterRole
from kubeconnect.k8s.runtime import Unknown

MODULES = [
    module.name
    for module in pkgutil.walk_packages(kubeconnect.k8s.__path__, "kubeconnect.k8s.")
    if not module.ispkg and not module.name.rpartition(".")[2].startswith("_")
]
GROUP_VERSIONS = [name for name in MODULES if name.count(".") == 3 and ".meta." not in name]


def messages(module: str) -> list[type[Message]]:
    found = vars(importlib.import_module(module)).values()
    return [each for each in found if isinstance(each, type) and issubclass(each, Message)]


KINDS = {
    (kind.group or "core", kind.version, kind.kind): cls
    for module in GROUP_VERSIONS
    for cls in messages(module)
    if (kind := find_kind(cls))
}


@pytest.fixture(scope="module")
def examples() -> Path:
    if shutil.which("go") is None:
        pytest.skip("the examples are in the module cache of Go")
    return builtin_kinds.module_folders("k8s.io/api")["k8s.io/api"] / "testdata/HEAD"


def test_every_module_is_imported() -> None:
    assert {"kubeconnect.k8s.core.v1", "kubeconnect.k8s.resource.v1"} <= set(GROUP_VERSIONS)
    assert len(KINDS) > 90
    assert KINDS["core", "v1", "Pod"] is Pod


def without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_null(each) for key, each in value.items() if each is not None}
    return [without_null(each) for each in value] if isinstance(value, list) else value


def test_the_json_form_of_every_kind_is_that_of_kubernetes(examples: Path) -> None:
    for (group, version, kind), cls in KINDS.items():
        example = examples / f"{group}.{version}.{kind}"
        if not example.with_name(f"{example.name}.pb").exists():
            assert f"{kind}" in {"PodStatusResult", "ImageReview"}, example
            continue
        envelope = example.with_name(f"{example.name}.pb").read_bytes().removeprefix(b"k8s\0")
        message = cls.FromString(Unknown.FromString(envelope).raw)
        written = json.loads(example.with_name(f"{example.name}.json").read_text())
        assert without_null(to_dict(message)) == without_null(written), example.name


def test_no_field_of_an_example_is_unknown(examples: Path) -> None:
    envelope = (examples / "core.v1.Pod.pb").read_bytes().removeprefix(b"k8s\0")
    pod = Pod.FromString(Unknown.FromString(envelope).raw)
    assert not UnknownFieldSet(pod)
    assert not UnknownFieldSet(pod.spec.containers[0])


@pytest.mark.parametrize("module", ["core.v1", "apps.v1", "rbac.v1", "meta.v1", "quantity"])
def test_a_module_imports_only_what_its_messages_contain(module: str) -> None:
    program = f"""
import sys
from kubeconnect.k8s.{module} import DESCRIPTOR

needed, files = set(), [DESCRIPTOR]
while files:
    file = files.pop()
    needed.add(file.name.removesuffix(".proto").replace("/", "."))
    files += file.dependencies
loaded = {{name for name in sys.modules if hasattr(sys.modules[name], "DESCRIPTOR")}}
loaded = {{name for name in loaded if name.startswith("kubeconnect.k8s.")}}
assert loaded == needed, loaded ^ needed
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_client_does_not_import_messages() -> None:
    program = """
import sys, kubeconnect.aio
assert not [name for name in sys.modules if name.startswith("kubeconnect.k8s")]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_no_field_is_required() -> None:
    for module in MODULES:
        for cls in messages(module):
            assert cls().IsInitialized()


def test_a_class_has_the_name_of_kubernetes_and_its_module() -> None:
    assert Pod.DESCRIPTOR.full_name == "k8s.io.api.core.v1.Pod"
    assert (Pod.__module__, Pod.__qualname__) == ("kubeconnect.k8s.core.v1", "Pod")


def test_kinds_have_a_group_a_version_and_a_resource() -> None:
    assert kind_of(Pod) == GroupVersionKind("", "v1", "Pod")
    assert (kind_of(Pod).api_version, kind_of(Pod).resource) == ("v1", "Pod.v1.")
    role = kind_of(ClusterRole())
    assert role.api_version == "rbac.authorization.k8s.io/v1"
    assert role.resource == "ClusterRole.v1.rbac.authorization.k8s.io"


@pytest.mark.parametrize("cls", [PodSpec, PodTemplateSpec, ObjectMeta, int])
def test_other_messages_are_not_kinds(cls: Any) -> None:
    with pytest.raises(TypeError, match=r"not a kind of kubeconnect\.k8s"):
        kind_of(cls)


def test_other_generated_code_can_be_in_the_default_pool() -> None:
    program = """
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
other = descriptor_pb2.FileDescriptorProto(
    name="k8s.io/api/core/v1/generated.proto", package="k8s.io.api.core.v1", syntax="proto2"
)
other.message_type.add(name="Pod")
descriptor_pool.Default().AddSerializedFile(other.SerializeToString())
from kubeconnect.k8s.core.v1 import Pod, PodList
theirs = message_factory.GetMessageClass(
    descriptor_pool.Default().FindMessageTypeByName("k8s.io.api.core.v1.Pod")
)
assert theirs is not Pod and theirs.DESCRIPTOR.full_name == Pod.DESCRIPTOR.full_name
try:
    PodList(items=[theirs()])
except TypeError:
    pass
else:
    raise AssertionError("a message of another pool is in the list")
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_descriptor_can_be_loaded_elsewhere() -> None:
    pool = DescriptorPool()
    for name in ("runtime", "meta/v1", "quantity", "intstr", "core/v1", "apps/v1"):
        module = importlib.import_module(f"kubeconnect.k8s.{name.replace('/', '.')}")
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        pool.AddSerializedFile(file.SerializeToString())  # type: ignore[no-untyped-call]
    found = pool.FindMessageTypeByName("k8s.io.api.apps.v1.Deployment")  # type: ignore[no-untyped-call]
    assert found.fields_by_name["spec"].message_type.name == "DeploymentSpec"


def test_messages_can_be_pickled() -> None:
    pod = Pod(metadata=ObjectMeta(name="web", labels={"app": "web"}))
    assert pickle.loads(pickle.dumps(pod)) == pod


def test_a_pointer_of_go_reports_whether_it_is_set() -> None:
    assert not DeploymentSpec().HasField("replicas")
    assert DeploymentSpec.FromString(DeploymentSpec(replicas=0).SerializeToString()).HasField(
        "replicas"
    )


def test_unknown_fields_are_kept() -> None:
    newer = Pod(metadata=ObjectMeta(name="web")).SerializeToString() + b"\xfa\x7f\x01x"
    assert Pod.FromString(newer).SerializeToString() == newer


def test_fields_with_the_name_of_a_python_keyword_are_set_by_name() -> None:
    policy = importlib.import_module("kubeconnect.k8s.networking.v1")
    rule = policy.NetworkPolicyIngressRule(**{"from": [policy.NetworkPolicyPeer()]})
    assert len(getattr(rule, "from")) == 1
    assert to_dict(rule) == {"from": [{}]}


def test_a_message_that_is_not_a_kind_has_no_kind_in_json() -> None:
    assert to_dict(PodSpec(nodeName="n1")) == {"nodeName": "n1"}


def test_zero_values_are_in_json_as_kubernetes_writes_them() -> None:
    container = Container(name="", image="", tty=False)
    assert to_dict(PodSpec(containers=[container], hostNetwork=False, priority=0)) == {
        "containers": [{"name": ""}],
        "priority": 0,
    }
    deployment = Deployment(spec=DeploymentSpec(replicas=0, minReadySeconds=0, paused=False))
    assert to_dict(deployment)["spec"] == {"replicas": 0}


def test_embedded_messages_are_a_part_of_their_object_in_json() -> None:
    volume = Volume(name="data")
    volume.volumeSource.emptyDir.SetInParent()
    assert to_dict(volume) == {"name": "data", "emptyDir": {}}


def test_the_json_form_can_be_written() -> None:
    pod = Pod(metadata=ObjectMeta(name="web"))
    assert json.dumps(to_dict(pod)) == (
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}'
    )
    assert cast(dict[str, Any], to_dict(pod)["metadata"])["name"] == "web"
