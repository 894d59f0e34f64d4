"""The calls of a client that create stores."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, overload

from kubeconnect._concurrency.aio import new_guard
from kubeconnect._connection import OnRetry
from kubeconnect._events import Event
from kubeconnect._kinds import KindMessage
from kubeconnect._messages import M
from kubeconnect._reads import paths
from kubeconnect._relations import Relation
from kubeconnect._store_dump import Dump, decode, selection_of
from kubeconnect._store_indexes import IndexBy
from kubeconnect._store_state import Position, StoreState
from kubeconnect._stored import Keep, event_keeper, keep_as
from kubeconnect._watch_many_session import K
from kubeconnect._watch_spec import WatchSpec, check_keyed, resource_of
from kubeconnect.aio._follower import AsyncFollowed, AsyncFollower
from kubeconnect.aio._store import AsyncStore
from kubeconnect.aio._stores import AsyncPart, AsyncStores
from kubeconnect.aio._streams import AsyncStreams
from kubeconnect.aio._watch import AsyncWatch
from kubeconnect.aio._watch_many import AsyncWatchMany
from kubeconnect.v1 import watch_pb2 as pb

Restore: TypeAlias = str | os.PathLike[str] | bytes
"""The path of a file that ``dump`` has written, or the bytes that ``dumps`` has returned."""

OnError: TypeAlias = Callable[[Exception], object]
"""A function that is called with the error that ended a store."""

_logger = logging.getLogger("kubeconnect")


class AsyncStoring(AsyncStreams):
    """The stores of a client."""

    @overload
    def store(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        name: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        fields: Iterable[str] | None = None,
        metadata_only: bool = False,
        min_resource_version: str | None = None,
        patches: bool = False,
        require_all_namespaces: bool = False,
        indexes: Mapping[str, IndexBy] | None = None,
        restore: Restore | None = None,
        on_retry: OnRetry | None = None,
        on_error: OnError | None = None,
    ) -> AsyncStore: ...
    @overload
    def store(
        self,
        resource: type[M],
        *,
        namespace: str | None = None,
        name: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        fields: Iterable[str] | None = None,
        min_resource_version: str | None = None,
        require_all_namespaces: bool = False,
        indexes: Mapping[str, IndexBy[M]] | None = None,
        restore: Restore | None = None,
        on_retry: OnRetry | None = None,
        on_error: OnError | None = None,
    ) -> AsyncStore[M]: ...
    def store(
        self,
        resource: str | type[M],
        *,
        namespace: str | None = None,
        name: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        fields: Iterable[str] | None = None,
        metadata_only: bool = False,
        min_resource_version: str | None = None,
        patches: bool = False,
        require_all_namespaces: bool = False,
        indexes: Mapping[str, IndexBy[Any]] | None = None,
        restore: Restore | None = None,
        on_retry: OnRetry | None = None,
        on_error: OnError | None = None,
    ) -> AsyncStore[Any]:
        """Return a local copy of a selection that follows the cluster, once it is entered as a
        context manager or started. ``store(Pod)`` has messages of ``kubeconnect.k8s``.

        The selection and ``on_retry`` are as in ``watch``. With ``patches`` the objects are in
        memory twice.

        ``indexes`` are by name: a field path in kubectl's notation, such as "spec.nodeName" or
        "spec.containers[*].image", or a function that returns the value or the values of an
        object. See ``AsyncStore.by_index``.

        ``restore`` is the path of a file that ``AsyncStore.dump`` has written, or the bytes of
        ``AsyncStore.dumps``. The store begins with the objects of the dump, and the service
        sends only what has changed since. Without the file, or with one that is damaged, of
        another selection, or too old for the service, the store begins with a snapshot; for a
        dump that cannot be used, the logger "kubeconnect" logs a warning.

        ``on_error`` is called with the error that has ended the store.
        """
        watch: WatchSpec[Any] = WatchSpec(
            resource,
            namespace=namespace,
            name=name,
            label_selector=label_selector,
            field_selector=field_selector,
            filter=filter,
            related=related,
            fields=fields,
            metadata_only=metadata_only,
            min_resource_version=min_resource_version,
            patches=patches,
            require_all_namespaces=require_all_namespaces,
        )
        spec = _spec(watch)
        selection = selection_of(spec.to_message(pb.WatchRequest, resumes=False))
        position = Position()
        keep = keep_as(resource)
        followed = AsyncFollowed(_name(spec), StoreState(indexes or {}, new_guard(), position))
        _restore([followed], position, restore, selection, [keep])

        def open_stream(token: str | None, note_loss: OnRetry) -> AsyncWatch[Any]:
            return self._watch(
                spec,
                event_keeper(keep),
                resume_token=token,
                on_retry=note_loss,
            )

        follower = AsyncFollower(
            followed.name,
            [followed],
            position,
            open_stream,
            followed.apply,
            on_retry,
            on_error,
            restores=restore is not None,
        )
        self._followers.add(follower)

        def reports() -> AsyncWatch[Any] | None:
            return follower.stream if isinstance(follower.stream, AsyncWatch) else None

        return AsyncStore(follower, followed, reports, selection, self._timeout)

    @overload
    def stores(
        self,
        watches: Mapping[K, WatchSpec | str],
        *,
        indexes: Mapping[K, Mapping[str, IndexBy]] | None = None,
        restore: Restore | None = None,
        on_retry: OnRetry | None = None,
        on_error: OnError | None = None,
    ) -> AsyncStores[K]: ...
    @overload
    def stores(
        self,
        watches: Mapping[K, WatchSpec[M]],
        *,
        indexes: Mapping[K, Mapping[str, IndexBy[M]]] | None = None,
        restore: Restore | None = None,
        on_retry: OnRetry | None = None,
        on_error: OnError | None = None,
    ) -> AsyncStores[K, M]: ...
    @overload
    def stores(
        self,
        watches: Mapping[K, WatchSpec[Any] | str | type[KindMessage]],
        *,
        indexes: Mapping[K, Mapping[str, IndexBy[Any]]] | None = None,
        restore: Restore | None = None,
        on_retry: OnRetry | None = None,
        on_error: OnError | None = None,
    ) -> AsyncStores[K, Any]: ...
    def stores(
        self,
        watches: Mapping[K, WatchSpec[Any] | str | type[KindMessage]],
        *,
        indexes: Mapping[K, Mapping[str, IndexBy[Any]]] | None = None,
        restore: Restore | None = None,
        on_retry: OnRetry | None = None,
        on_error: OnError | None = None,
    ) -> AsyncStores[K, Any]:
        """Return up to 100 stores that share one stream, by the keys of ``watches``.

        A watch is a WatchSpec, or the name of a resource, or a class of ``kubeconnect.k8s``.
        Type checkers know the objects if all are Objects, or all watches are a WatchSpec of one
        class. Among others, declare the type: ``pods: AsyncStore[Pod] = stores["pods"]``.
        ``indexes`` are as in ``store``, by key. The other arguments are as in ``store``.

        Raises ValueError for indexes with a key that no watch has.
        """
        check_keyed(watches)
        specs = {key: _spec(watch) for key, watch in watches.items()}
        _check_keys(indexes or {}, specs)
        guard, position = new_guard(), Position(shared=True)
        followed = {
            key: AsyncFollowed(
                _name(spec), StoreState((indexes or {}).get(key, {}), guard, position)
            )
            for key, spec in specs.items()
        }
        keeps = [keep_as(resource_of(spec)) for spec in specs.values()]
        messages = [spec.to_message(pb.WatchSpec, resumes=False) for spec in specs.values()]
        selection = selection_of(pb.WatchManyRequest(watches=messages))
        _restore(list(followed.values()), position, restore, selection, keeps)

        def open_stream(token: str | None, note_loss: OnRetry) -> AsyncWatchMany[K, Any]:
            return self._watch_many(
                specs,
                decode=[event_keeper(keep) for keep in keeps],
                resume_token=token,
                on_retry=note_loss,
                on_empty=self._warn_if_missing,
            )

        def apply(step: tuple[K, Event[Any]], token: str | None) -> None:
            key, event = step
            followed[key].apply(event, token)

        name = ", ".join(each.name for each in followed.values())
        follower = AsyncFollower(
            name,
            list(followed.values()),
            position,
            open_stream,
            apply,
            on_retry,
            on_error,
            restores=restore is not None,
        )
        self._followers.add(follower)

        def reports(key: K) -> AsyncPart[K] | None:
            stream = follower.stream
            return AsyncPart(stream, key) if isinstance(stream, AsyncWatchMany) else None

        stores: dict[K, AsyncStore[Any]] = {
            key: AsyncStore(follower, each, partial(reports, key), selection, self._timeout)
            for key, each in followed.items()
        }
        return AsyncStores(follower, stores, selection, self._timeout)


def _spec(watch: WatchSpec[Any] | str | type[KindMessage]) -> WatchSpec[Any]:
    """Return the specification of a watch, whose fields can be iterated over several times."""
    spec: WatchSpec[Any] = watch if isinstance(watch, WatchSpec) else WatchSpec(watch)
    fields = paths(spec.fields)
    return replace(spec, fields=None if fields is None else list(fields))


def _check_keys(indexes: Mapping[Any, object], specs: Mapping[Any, object]) -> None:
    if unknown := [repr(key) for key in indexes if key not in specs]:
        raise ValueError(f"indexes of {', '.join(unknown)}, but no watch has this key")


def _name(spec: WatchSpec[Any]) -> str:
    """Return the name of the resource of a watch, for people."""
    resource = resource_of(spec)
    return resource if isinstance(resource, str) else resource.__name__


def _restore(
    followed: list[AsyncFollowed],
    position: Position,
    restore: Restore | None,
    selection: str,
    keeps: Sequence[Keep],
) -> None:
    if restore is None:
        return
    dump = _read_dump(restore, selection, followed[0].name, keeps)
    if dump is None:
        return
    for each, part in zip(followed, dump.parts, strict=True):
        each.state.restore(part.resource, part.resource_version, part.objects)
    position.token = dump.token


def _read_dump(restore: Restore, selection: str, name: str, keeps: Sequence[Keep]) -> Dump | None:
    try:
        data = restore if isinstance(restore, bytes) else Path(restore).read_bytes()
        return decode(data, selection, keeps)
    except FileNotFoundError:
        return None
    except ValueError as error:
        _logger.warning("the dump of %s is not used: %s", name, error)
        return None
