"""Tests of the state of a leader election, without any I/O."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubeconnect._leases import Election, LeaseRecord, check_durations
from tests.clock import Clock

BEGIN = datetime(2026, 1, 2, 12, 0, tzinfo=timezone.utc)


def lease(holder: str, renewed: str = "t1", seconds: int = 15, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "resourceVersion": "7"},
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": seconds,
            "leaseTransitions": 3,
            "acquireTime": "t0",
            "renewTime": renewed,
            **spec,
        },
    }


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture
def election(clock: Clock) -> Election:
    return Election("me", 15.0, clock=clock, now=lambda: BEGIN + timedelta(seconds=clock.now))


def test_a_lease_of_another_candidate_is_taken_until_it_has_not_changed_for_its_duration(
    election: Election, clock: Clock
) -> None:
    election.observe(lease("other", seconds=20))
    clock.advance(19.9)
    election.observe(lease("other", seconds=20))
    assert election.is_taken
    clock.advance(0.1)
    assert not election.is_taken
    assert election.holder == "other"


def test_a_renewal_begins_the_duration_again(election: Election, clock: Clock) -> None:
    election.observe(lease("other", "t1"))
    clock.advance(14.0)
    election.observe(lease("other", "t2"))
    clock.advance(14.0)
    assert election.is_taken


@pytest.mark.parametrize("renewed", ["1999-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"])
def test_the_clocks_of_other_candidates_do_not_matter(
    election: Election, clock: Clock, renewed: str
) -> None:
    election.observe(lease("other", renewed))
    assert election.is_taken
    clock.advance(15.0)
    assert not election.is_taken


def test_a_change_of_the_metadata_is_no_renewal(election: Election, clock: Clock) -> None:
    election.observe(lease("other"))
    clock.advance(10.0)
    election.observe({**lease("other"), "metadata": {"resourceVersion": "8"}})
    clock.advance(5.0)
    assert not election.is_taken


@pytest.mark.parametrize("spec", [None, {}, {"holderIdentity": "", "leaseDurationSeconds": 1}])
def test_a_lease_without_a_holder_is_free(election: Election, spec: dict[str, Any] | None) -> None:
    election.observe({"metadata": {}, "spec": spec})
    assert not election.is_taken
    assert election.holder is None


def test_a_held_lease_is_valid_from_before_the_request(election: Election, clock: Clock) -> None:
    sent = clock()
    clock.advance(5.0)
    election.observe(lease("me"), sent)
    assert election.is_held
    clock.advance(9.9)
    assert election.is_held
    clock.advance(0.1)
    assert not election.is_held
    assert not election.is_lost


def test_a_lease_of_another_holder_is_lost(election: Election) -> None:
    election.observe(lease("me"))
    election.observe(lease("other", "t2"))
    assert (election.is_held, election.is_lost, election.is_taken) == (False, True, True)


def test_a_deleted_lease_is_free(election: Election) -> None:
    election.observe(lease("other"))
    election.observe(None)
    assert (election.is_taken, election.is_lost, election.holder) == (False, False, None)


def test_the_first_claim_has_no_transitions(election: Election, clock: Clock) -> None:
    election.observe(None)
    assert election.claim() == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "leaseTransitions": 0,
        "acquireTime": "2026-01-02T12:16:40.000000Z",
        "renewTime": "2026-01-02T12:16:40.000000Z",
    }


def test_a_claim_of_an_expired_lease_is_a_transition(election: Election) -> None:
    election.observe(lease("other"))
    claim = election.claim()
    assert (claim["holderIdentity"], claim["leaseTransitions"]) == ("me", 4)
    assert claim["acquireTime"] == claim["renewTime"] == "2026-01-02T12:16:40.000000Z"


def test_a_renewal_is_no_transition(election: Election) -> None:
    election.observe(lease("me"))
    claim = election.claim()
    assert (claim["leaseTransitions"], claim["acquireTime"]) == (3, "t0")
    assert claim["renewTime"] == "2026-01-02T12:16:40.000000Z"


def test_a_resignation_has_no_holder_and_a_second_to_live(election: Election) -> None:
    election.observe(lease("me"))
    resignation = election.resignation()
    assert (resignation["holderIdentity"], resignation["leaseDurationSeconds"]) == ("", 1)
    assert resignation["leaseTransitions"] == 3


def test_fields_of_others_are_kept(election: Election) -> None:
    election.observe(lease("me", strategy="OldestEmulationVersion"))
    assert election.claim()["strategy"] == "OldestEmulationVersion"


def test_the_duration_is_rounded_up_to_seconds() -> None:
    election = Election("me", 1.5)
    assert election.claim()["leaseDurationSeconds"] == 2


def test_a_record_without_a_spec_is_empty() -> None:
    assert LeaseRecord.from_lease({}) == LeaseRecord()


@pytest.mark.parametrize(
    ("lease", "renew", "retry", "match"),
    [
        (10.0, 10.0, 2.0, "more than renew_deadline"),
        (15.0, 2.4, 2.0, "more than 1.2 times retry_period"),
        (15.0, 10.0, 0.0, "retry_period must be more than 0"),
        (float("inf"), 10.0, 2.0, "finite"),
    ],
)
def test_refuses_durations_that_allow_two_leaders(
    lease: float, renew: float, retry: float, match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        check_durations(lease, renew, retry)
