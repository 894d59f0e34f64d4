import json
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Value

from kubeconnect._values import plain


@pytest.mark.parametrize(
    "value", [None, True, False, 7, -1, 0.5, "text", "", [], [1, [2.5, None]], {"a": {"b": [1]}}]
)
def test_value_is_as_json_decodes_it(value: Any) -> None:
    text = json.dumps(value)
    assert json.dumps(plain(json_format.Parse(text, Value()))) == text


def test_unset_value_is_none() -> None:
    assert plain(Value()) is None
