"""The calls of a client that create stores."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from kubeconnect._concurrency.aio import new_guard
from kubeconnect._connection import OnRetry
from kubeconnect._events import Event
from kubeconnect._reads import paths
from kubeconnect._relations import Relation
from kubeconnect._store_dump import Dump, decode, selection_of
from kubeconnect._store_indexes import IndexBy
from kubeconnect._store_state import Position, StoreState
from kubeconnect._watch_many_session import K
from kubeconnect._watch_session import MAX_STALENESS_SECONDS
from kubeconnect._watch_spec import WatchSpec
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
        max_staleness: float = MAX_STALENESS_SECONDS,
        on_retry: OnRetry | None = None,
        on_error: OnError | None = None,
    ) -> AsyncStore:
        """Return a local copy of a selection that follows the cluster, once it is entered as a
        context manager or started.

        The selection, ``max_staleness`` and ``on_retry`` are as in ``watch``. With ``patches``
        the objects are in memory twice.

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
        watch = WatchSpec(
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
        followed = AsyncFollowed(resource, StoreState(indexes or {}, new_guard(), position))
        _restore([followed], position, restore, selection)

        def open_stream(token: str | None, note_loss: OnRetry) -> AsyncWatch:
            return self.watch(
                **vars(spec), resume_token=token, max_staleness=max_staleness, on_retry=note_loss
            )

        follower = AsyncFollower(
            resource, [followed], position, open_stream, followed.apply, on_retry, on_error
        )
        self._followers.add(follower)

        def reports() -> AsyncWatch | None:
            return follower.stream if isinstance(follower.stream, AsyncWatch) else None

        return AsyncStore(follower, followed, reports, selection, self._timeout)

    def stores(
        self,
        watches: Mapping[K, WatchSpec | str],
        *,
        indexes: Mapping[K, Mapping[str, IndexBy]] | None = None,
        restore: Restore | None = None,
        max_staleness: float = MAX_STALENESS_SECONDS,
        on_retry: OnRetry | None = None,
        on_error: OnError | None = None,
    ) -> AsyncStores[K]:
        """Return up to 100 stores that share one stream, by the keys of ``watches``.

        A watch is a WatchSpec, or the name of a resource. ``indexes`` are as in ``store``, by
        key. The other arguments are as in ``store``.
        """
        specs = {key: _spec(watch) for key, watch in watches.items()}
        guard, position = new_guard(), Position(shared=True)
        followed = {
            key: AsyncFollowed(
                spec.resource, StoreState((indexes or {}).get(key, {}), guard, position)
            )
            for key, spec in specs.items()
        }
        messages = [spec.to_message(pb.WatchSpec, resumes=False) for spec in specs.values()]
        selection = selection_of(pb.WatchManyRequest(watches=messages))
        _restore(list(followed.values()), position, restore, selection)

        def open_stream(token: str | None, note_loss: OnRetry) -> AsyncWatchMany[K]:
            return self.watch_many(
                specs, resume_token=token, max_staleness=max_staleness, on_retry=note_loss
            )

        def apply(step: tuple[K, Event], token: str | None) -> None:
            key, event = step
            followed[key].apply(event, token)

        name = ", ".join(each.name for each in followed.values())
        follower = AsyncFollower(
            name, list(followed.values()), position, open_stream, apply, on_retry, on_error
        )
        self._followers.add(follower)

        def reports(key: K) -> AsyncPart[K] | None:
            stream = follower.stream
            return AsyncPart(stream, key) if isinstance(stream, AsyncWatchMany) else None

        stores = {
            key: AsyncStore(follower, each, partial(reports, key), selection, self._timeout)
            for key, each in followed.items()
        }
        return AsyncStores(follower, stores, selection, self._timeout)


def _spec(watch: WatchSpec | str) -> WatchSpec:
    """Return the specification of a watch, whose fields can be iterated over several times."""
    spec = WatchSpec(watch) if isinstance(watch, str) else watch
    fields = paths(spec.fields)
    return replace(spec, fields=None if fields is None else list(fields))


def _restore(
    followed: list[AsyncFollowed], position: Position, restore: Restore | None, selection: str
) -> None:
    dump = _read_dump(restore, selection, followed[0].name) if restore is not None else None
    if dump is None:
        return
    for each, part in zip(followed, dump.parts, strict=True):
        each.state.restore(part.resource, part.resource_version, part.objects)
    position.token = dump.token


def _read_dump(restore: Restore, selection: str, name: str) -> Dump | None:
    try:
        return decode(
            restore if isinstance(restore, bytes) else Path(restore).read_bytes(), selection
        )
    except FileNotFoundError:
        return None
    except ValueError as error:
        _logger.warning("the dump of %s is not used: %s", name, error)
        return None
