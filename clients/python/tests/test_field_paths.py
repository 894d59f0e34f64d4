from typing import Any

import pytest

from kubeconnect._field_paths import FieldPath

POD = {
    "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "shop", "a'b": "quoted"}},
    "spec": {"containers": [{"image": "x"}, {"image": "y"}, {}], "nodeName": None},
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("metadata.name", ["web"]),
        (".metadata.name", ["web"]),
        ("$.metadata.name", ["web"]),
        ("{.metadata.name}", ["web"]),
        ("spec.containers[*].image", ["x", "y"]),
        ("metadata.labels[*]", ["shop", "quoted"]),
        ("metadata.labels.*", ["shop", "quoted"]),
        ("spec.containers.*.image", ["x", "y"]),
        ("metadata.labels['app.kubernetes.io/name']", ["shop"]),
        ('metadata.labels["a\'b"]', ["quoted"]),
        (r"metadata.labels.app\.kubernetes\.io/name", ["shop"]),
        ("spec.nodeName", [None]),
        ("spec.missing.deeper", []),
        ("metadata.name.deeper", []),
        ("metadata.name[*]", []),
    ],
)
def test_finds_the_values_at_a_path(path: str, values: list[Any]) -> None:
    assert list(FieldPath(path).values(POD)) == values


@pytest.mark.parametrize(
    "path", ["", "{}", "$", "a..b", "a.", "a[0]", "a[1:2]", "a[?(@.b)]", "a['b", "..a", "a[*"]
)
def test_rejects_what_is_not_a_path(path: str) -> None:
    with pytest.raises(ValueError, match="is not a field path"):
        FieldPath(path)
