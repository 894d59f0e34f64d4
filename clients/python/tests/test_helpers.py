from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubeconnect.k8s._json import _duration, _value
from kubeconnect.k8s.core.v1 import Container, Pod, Probe, ResourceRequirements, Secret
from kubeconnect.k8s.helpers import (
    to_datetime,
    to_dict,
    to_int_or_str,
    to_int_or_string,
    to_micro_time,
    to_quantities,
    to_time,
)
from kubeconnect.k8s.intstr import IntOrString
from kubeconnect.k8s.meta.v1 import Duration, FieldsV1, MicroTime, ObjectMeta, Time
from kubeconnect.k8s.quantity import Quantity
from kubeconnect.k8s.runtime import RawExtension

UTC = timezone.utc
NOON = datetime(2026, 1, 2, 12, 0, 0, 123456, UTC)


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (Time(seconds=0, nanos=0), datetime(1970, 1, 1, tzinfo=UTC)),
        (Time(seconds=1767355200), NOON.replace(microsecond=0)),
        (Time(seconds=-1), datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (Time(seconds=-62135596800), datetime(1, 1, 1, tzinfo=UTC)),
        (MicroTime(seconds=1767355200, nanos=123456000), NOON),
        (MicroTime(seconds=1767355200, nanos=123456999), NOON),
        (MicroTime(seconds=-1, nanos=500000000), datetime(1969, 12, 31, 23, 59, 59, 500000, UTC)),
    ],
)
def test_a_time_is_a_datetime_in_utc(time: Time | MicroTime, expected: datetime) -> None:
    found = to_datetime(time)
    assert found == expected
    assert found is not None
    assert found.tzinfo is UTC


def test_a_time_that_is_not_set_is_none() -> None:
    assert to_datetime(Pod().metadata.creationTimestamp) is None
    sent_by_the_api_server = ObjectMeta.FromString(b"\x42\x00")
    assert sent_by_the_api_server.HasField("creationTimestamp")
    assert to_datetime(sent_by_the_api_server.creationTimestamp) is None


@pytest.mark.parametrize("value", [NOON, NOON.replace(year=1969), NOON.replace(year=9999)])
def test_times_are_the_same_after_both_conversions(value: datetime) -> None:
    assert to_datetime(to_micro_time(value)) == value
    assert to_datetime(to_time(value)) == value.replace(microsecond=0)


def test_a_datetime_of_another_zone_is_the_same_time() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert to_time(elsewhere) == to_time(NOON)


@pytest.mark.parametrize("convert", [to_time, to_micro_time])
def test_a_datetime_without_a_zone_is_rejected(convert: Any) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        convert(datetime(2026, 1, 2))


@pytest.mark.parametrize("value", [0, 8080, -1, "http", "", "50%"])
def test_an_int_or_string_is_the_same_after_both_conversions(value: int | str) -> None:
    assert to_int_or_str(to_int_or_string(value)) == value


def test_an_int_or_string_that_is_not_set_is_zero() -> None:
    assert to_int_or_str(IntOrString()) == 0


def test_converted_values_can_be_fields() -> None:
    container = Container(
        resources=ResourceRequirements(limits=to_quantities({"cpu": "0.5"})),
        livenessProbe=Probe(),
    )
    container.livenessProbe.handler.tcpSocket.port.CopyFrom(to_int_or_string("http"))
    assert to_dict(container) == {
        "resources": {"limits": {"cpu": "500m"}},
        "livenessProbe": {"tcpSocket": {"port": "http"}},
    }


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (3_300_000_000, "3.3s"),
        (60_000_000_000, "1m0s"),
        (245_000_000_000, "4m5s"),
        (245_001_000_000, "4m5.001s"),
        (18_367_001_000_000, "5h6m7.001s"),
        (480_000_000_001, "8m0.000000001s"),
        (3_600_000_000_000, "1h0m0s"),
        (2**63 - 1, "2562047h47m16.854775807s"),
        (-(2**63), "-2562047h47m16.854775808s"),
        (-1_500_000_000, "-1.5s"),
    ],
)
def test_a_duration_is_written_as_in_go(nanoseconds: int, text: str) -> None:
    assert _duration(Duration(duration=nanoseconds)) == text


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Secret(data={"key": b"\xff"}, stringData={"a": "b"}), {"key": "/w=="}),
        (Secret(), None),
    ],
)
def test_bytes_are_written_in_base64(message: Secret, expected: Any) -> None:
    assert to_dict(message).get("data") == expected


def test_times_that_are_not_set_are_left_out() -> None:
    metadata = ObjectMeta(name="web", creationTimestamp=Time(), deletionTimestamp=to_time(NOON))
    assert to_dict(metadata) == {"name": "web", "deletionTimestamp": "2026-01-02T12:00:00Z"}


def test_embedded_json_is_written_as_it_is() -> None:
    assert _value(RawExtension(raw=b'{"a": [1]}')) == {"a": [1]}
    assert _value(RawExtension()) is None
    assert _value(FieldsV1(Raw=b'{"f:spec": {}}')) == {"f:spec": {}}
    assert _value(Quantity()) == "0"
    assert _value(MicroTime(seconds=0, nanos=0)) == "1970-01-01T00:00:00.000000Z"
