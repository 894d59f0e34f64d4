import json
import pickle
from datetime import datetime, timezone

import pytest

from kubeconnect import Object, Resource, Status, UnreadableObject
from kubeconnect.v1 import object_pb2
from tests.fake import PODS, pod

KIND = Resource.from_message(PODS)


def test_is_a_mapping() -> None:
    web = Object(pod("web", spec={"nodeName": "n1"}), KIND)
    assert list(web) == ["kind", "metadata", "spec"]
    assert (len(web), "spec" in web, web.get("status")) == (3, True, None)
    assert web == web.to_dict()


def test_is_decoded_once() -> None:
    web = Object(pod("web"), KIND)
    assert web.to_dict() is web.to_dict()
    assert json.loads(web.raw) == web.to_dict()


def test_shows_its_name_and_not_its_content() -> None:
    assert repr(Object(pod("web", data="s3cret"), KIND)) == "<Object Pod demo/web>"
    assert repr(Object(pod("web", namespace=""), KIND)) == "<Object Pod web>"
    assert repr(Object(pod("", namespace=""), KIND)) == "<Object Pod>"


def test_has_shortcuts_into_its_metadata() -> None:
    message = pod("web")
    metadata = {
        "labels": {"app": "web"},
        "annotations": {"a": "b"},
        "creationTimestamp": "2026-01-02T12:31:07Z",
    }
    message.json = json.dumps({"metadata": metadata}).encode()
    web = Object(message, KIND)
    assert (web.metadata, web.labels, web.annotations) == (metadata, {"app": "web"}, {"a": "b"})
    assert web.created == datetime(2026, 1, 2, 12, 31, 7, tzinfo=timezone.utc)
    assert not web.deleting


def test_the_shortcuts_are_empty_without_metadata() -> None:
    message = pod("web")
    message.json = b"{}"
    web = Object(message, KIND)
    assert (web.metadata, web.labels, web.annotations) == ({}, {}, {})
    assert web.created is None


def test_can_be_written_as_json() -> None:
    web = Object(pod("web"), KIND)
    assert json.dumps(web.to_dict()) == json.dumps(web, default=dict)


def test_is_shown_in_notebooks_without_its_content() -> None:
    message = pod("<web>", data="s3cret")
    html = Object(message, KIND)._repr_html_()
    assert "<caption>Pod demo/&lt;web&gt;</caption>" in html
    assert '<tr><th scope="row">uid</th><td>uid-&lt;web&gt;</td></tr>' in html
    assert "<td>kind, metadata, data</td>" in html
    assert "s3cret" not in html
    without_content = Object(object_pb2.Object(name="web"), KIND)._repr_html_()
    assert "web was sent without content" in without_content


def test_can_be_pickled() -> None:
    web = Object(pod("web"), KIND)
    copy = pickle.loads(pickle.dumps(web))
    assert (copy, copy.uid, copy.resource) == (web, web.uid, web.resource)


def test_an_unreadable_one_has_a_name_and_an_error() -> None:
    status = Status(reason="InternalError", message="cannot decode demo/web")
    web = Object(object_pb2.Object(namespace="demo", name="web", error=status), KIND)
    assert (web.namespace, web.name) == ("demo", "web")
    assert web.error is not None
    assert web.error.status == status
    for look in (lambda: web.raw, web.to_dict, lambda: web["spec"], lambda: len(web)):
        with pytest.raises(UnreadableObject, match="cannot decode demo/web"):
            look()


def test_encoding_that_was_not_requested_is_unreadable() -> None:
    web = Object(object_pb2.Object(name="web", protobuf=b"..."), KIND)
    with pytest.raises(UnreadableObject, match="web was sent as protobuf, not as JSON"):
        web.to_dict()


@pytest.mark.parametrize(("group", "api_version"), [("", "v1"), ("apps", "apps/v1")])
def test_resource_has_an_api_version(group: str, api_version: str) -> None:
    assert Resource(group, "v1", "X", "xs", namespaced=True).api_version == api_version


def test_object_without_content_is_true() -> None:
    deleted = Object(object_pb2.Object(name="web"), KIND)
    assert deleted
    with pytest.raises(UnreadableObject, match="web was sent without content"):
        deleted.to_dict()
