"""Type variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from kubeconnect._objects import Object

    # The type of objects: Object, or a message of kubeconnect.k8s.
    T = TypeVar("T", default=Object)
    T_co = TypeVar("T_co", default=Object, covariant=True)
else:
    from typing import TypeVar

    T = TypeVar("T")
    T_co = TypeVar("T_co", covariant=True)
