"""One live page: the objects that the client has, and the next response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubeconnect._errors import NotFound
from kubeconnect.testing._cluster import Cluster, Content, Key
from kubeconnect.testing._failures import bad_request, failure, not_found
from kubeconnect.testing._joining import Join
from kubeconnect.testing._masks import order_of
from kubeconnect.testing._selections import Selection
from kubeconnect.testing._watching import Watcher
from kubeconnect.v1 import object_pb2, watch_pb2

_MAX_LIMIT = 500


class PageWatcher(Watcher):
    """Follows a page of a sorted selection. Guarded by the lock of the cluster."""

    def __init__(
        self,
        cluster: Cluster,
        selection: Selection,
        request: watch_pb2.WatchRequest,
        heartbeat: float,
        token: list[Any] | None,
        joins: Sequence[Join] = (),
    ) -> None:
        """Begin with the page that the client has by its token; None to begin with RESET. Raises
        InvalidArgument for a page that is none, and NotFound for an object that does not exist.
        """
        super().__init__(cluster, selection, request.encoding, heartbeat, None)
        _check(request)
        self._order = order_of(request.order_by)
        self._joins = joins
        self._joined: dict[Key, list[object_pb2.JoinedObjects]] = {}  # of what the client has
        self._limit = request.limit
        self._offset = request.offset
        self._after = _key(request.after) if request.HasField("after") else None
        self._anchor: Content | None = None  # the last state of the object before the page
        self._page: list[Content] | None = None  # what the client has
        self._state = watch_pb2.PageState()
        if token is not None:
            self._offset = self._offset if self._after is None else token[1]
            self._page = token[2] if token[0] == cluster.epoch else None
        self._find_anchor(resumes=token is not None)

    def _find_anchor(self, *, resumes: bool) -> None:
        if self._after is None:
            return
        found = self._contents().get(self._after)
        self._anchor = found if self._selection.matches(found) else None
        if self._anchor is None and not resumes:
            raise not_found(self._selection.resource, self._after[1])

    @property
    def token(self) -> list[Any]:
        """The values of the token to resume with after what was returned."""
        have = [{"metadata": each["metadata"]} for each in self._page or []]
        return [self._cluster.epoch, self._state.offset, have]

    def next(self) -> watch_pb2.WatchResponse | None:
        """Return what there is to send now; None if there is nothing. Raises NotFound if the
        resource is not served any more.
        """
        resource, visible = self._selection.resource, self._cluster.visible
        begins = self._page is None or self._is_of_other_epoch()
        contents, state = self._current()
        events = list(self._snapshot_of(contents) if begins else self._differences(contents))
        self._announced = self._announced and not begins
        has_changed = bool(events) or not self._announced or _place(state) != _place(self._state)
        self._page, self._position = contents, (self._cluster.epoch, visible)
        if not events and not self._cluster.registry.serves(resource):
            message = f"the fake service no longer serves {resource.full_name}"
            raise failure(NotFound, message, resource=resource)
        if not has_changed and not self._is_due():
            return None
        self._state = state
        if not self._announced and not begins:
            events.append(self._mark(watch_pb2.EVENT_TYPE_BOOKMARK, visible))
        response = self._response(events or [self._mark(watch_pb2.EVENT_TYPE_BOOKMARK, visible)])
        if has_changed:
            response.page.CopyFrom(state)
        return response

    def _is_of_other_epoch(self) -> bool:
        return self._position is not None and self._position[0] != self._cluster.epoch

    def _contents(self) -> dict[Key, Content]:
        return self._cluster.objects(self._selection.resource, self._cluster.visible)

    def _current(self) -> tuple[list[Content], watch_pb2.PageState]:
        """Return the objects of the page as it is now, and its state."""
        contents = self._order(self._selection.select(self._contents()))
        offset = self._offset_in(contents)
        state = watch_pb2.PageState(
            total_count=len(contents), offset=offset, resource_version=str(self._cluster.visible)
        )
        return contents[offset : offset + self._limit], state

    def _offset_in(self, contents: list[Content]) -> int:
        """Return the number of objects before the page. An object that is gone keeps its place."""
        present = next((each for each in contents if _key_of(each) == self._after), None)
        self._anchor = present or self._anchor
        if self._anchor is None:
            return min(self._offset, len(contents))
        if present is not None:
            return contents.index(present) + 1
        both = sorted([*contents, self._anchor], key=_key_of)
        return [each is self._anchor for each in self._order(both)].index(True)

    def _snapshot_of(self, contents: list[Content]) -> Iterator[watch_pb2.Event]:
        visible = self._cluster.visible
        yield self._mark(watch_pb2.EVENT_TYPE_RESET, visible)
        for index, content in enumerate(contents):
            yield self._placed(watch_pb2.EVENT_TYPE_ADDED, content, index)
        yield self._mark(watch_pb2.EVENT_TYPE_SYNCED, visible)

    def _differences(self, contents: list[Content]) -> Iterator[watch_pb2.Event]:
        """Iterate over the events that lead from the page that the client has to another one."""
        wanted = {(_key_of(each), each["metadata"]["uid"]) for each in contents}
        items = list(self._page or [])
        for index in reversed(range(len(items))):
            if (_key_of(items[index]), items[index]["metadata"]["uid"]) not in wanted:
                items.pop(index)
                yield self._left(index)
        for index, content in enumerate(contents):
            places = range(index, len(items))
            place = next((n for n in places if _key_of(items[n]) == _key_of(content)), None)
            if place is None:
                yield self._placed(watch_pb2.EVENT_TYPE_ADDED, content, index)
            elif self._differs(items.pop(place), content):
                yield self._placed(watch_pb2.EVENT_TYPE_MODIFIED, content, index)
            elif place != index:
                moved = watch_pb2.Event(type=watch_pb2.EVENT_TYPE_MOVED, index=index)
                moved.object.CopyFrom(_identity(content))
                yield moved
            items.insert(index, content)

    def _differs(self, before: Content, after: Content) -> bool:
        if self._joined.get(_key_of(after), []) != self._joined_of(after):
            return True
        if before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]:
            return False
        return not self._is_equal(before, after)

    def _placed(self, type: watch_pb2.EventType, content: Content, index: int) -> watch_pb2.Event:
        event = self._event(type, content, content["metadata"]["resourceVersion"])
        event.index = index
        self._joined[_key_of(content)] = joined = self._joined_of(content)
        event.object.joined.extend(joined)
        return event

    def _joined_of(self, content: Content) -> list[object_pb2.JoinedObjects]:
        return [join.of(content) for join in self._joins]

    def _left(self, index: int) -> watch_pb2.Event:
        version = str(self._cluster.visible)
        return watch_pb2.Event(
            type=watch_pb2.EVENT_TYPE_DELETED, index=index, resource_version=version
        )


def _check(request: watch_pb2.WatchRequest) -> None:
    if not 1 <= request.limit <= _MAX_LIMIT:
        raise bad_request(f"invalid limit {request.limit}: give 1 to {_MAX_LIMIT}")
    if request.offset < 0:
        raise bad_request(f"invalid offset {request.offset}: give 0 or more")
    if request.offset and request.HasField("after"):
        raise bad_request("give offset or after, not both")


def check_no_page(request: watch_pb2.WatchRequest | watch_pb2.WatchSpec) -> None:
    """Raise InvalidArgument for a watch without a limit that has other parameters of a page."""
    if request.order_by or request.offset or request.HasField("after") or request.joins:
        raise bad_request("order_by, offset, after and joins need a limit")


def _place(state: watch_pb2.PageState) -> tuple[int, int]:
    return state.total_count, state.offset


def _key(name: watch_pb2.ObjectName) -> Key:
    return name.namespace, name.name


def _key_of(content: Content) -> Key:
    metadata = content["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _identity(content: Content) -> object_pb2.Object:
    metadata = content["metadata"]
    return object_pb2.Object(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )
