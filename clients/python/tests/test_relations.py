import pytest

from kubeconnect import Relation, RelationType, about, owned_by, owner_of, selected_by
from kubeconnect.v1 import relation_pb2 as pb


@pytest.mark.parametrize(
    ("relation", "type"),
    [
        (owned_by("pods", "web", namespace="demo", uid="u1"), pb.RELATION_TYPE_OWNED_BY),
        (selected_by("pods", "web", namespace="demo", uid="u1"), pb.RELATION_TYPE_SELECTED_BY),
        (about("pods", "web", namespace="demo", uid="u1"), pb.RELATION_TYPE_ABOUT),
        (owner_of("pods", "web", namespace="demo", uid="u1"), pb.RELATION_TYPE_OWNER_OF),
    ],
)
def test_names_the_other_object(relation: Relation, type: pb.RelationType) -> None:
    assert relation.to_message() == pb.Relation(
        type=type, resource="pods", namespace="demo", name="web", uid="u1"
    )


def test_follows_owners_only_if_transitive() -> None:
    assert owned_by("deployments", "web", transitive=True).to_message().transitive
    assert not owned_by("deployments", "web").to_message().transitive


def test_has_every_type() -> None:
    said = {type.value for type in RelationType} | {pb.RELATION_TYPE_UNSPECIFIED}
    assert said == set(pb.RelationType.values())
