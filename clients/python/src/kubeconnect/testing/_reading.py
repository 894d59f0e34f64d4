"""Lists, counts and tables of selected objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone

from kubeconnect._errors import Expired
from kubeconnect.testing._cluster import Cluster, Content
from kubeconnect.testing._failures import bad_request, failure
from kubeconnect.testing._joining import Join
from kubeconnect.testing._masks import order_of, to_value
from kubeconnect.testing._selections import Selection
from kubeconnect.testing._tokens import read_token, write_token
from kubeconnect.v1 import read_pb2, table_pb2

_PAGE_BYTES = 3 << 20
_TABLE_ROWS = 500
_AGES: tuple[tuple[int, Callable[[int], str]], ...] = (
    (120, lambda s: f"{s}s"),
    (600, lambda s: f"{s // 60}m{s % 60}s" if s % 60 else f"{s // 60}m"),
    (10_800, lambda s: f"{s // 60}m"),
    (28_800, lambda s: f"{s // 3600}h{s % 3600 // 60}m" if s % 3600 // 60 else f"{s // 3600}h"),
    (172_800, lambda s: f"{s // 3600}h"),
    (691_200, lambda s: f"{s // 86400}d{s % 86400 // 3600}h"),
    (63_072_000, lambda s: f"{s // 86400}d"),
)


class Listing:
    """The objects of a list at its version, from the position of a page on."""

    def __init__(
        self, cluster: Cluster, selection: Selection, page_token: str, page_size: int, version: int
    ) -> None:
        """Begin at the page of a token, or with the first page at a version."""
        if page_size < 0:
            raise bad_request(f"invalid page_size {page_size}: give 0 or more")
        self._selection = selection
        self._size = page_size
        self._epoch, self.version, self._start = cluster.epoch, version, 0
        if page_token:
            self._continue(page_token)
        objects = cluster.objects(selection.resource, self.version)
        self.contents = selection.select(objects)

    def _continue(self, token: str) -> None:
        advice = "list from the first page"
        kind, epoch, version, start, digest = (*read_token("page_token", token, advice), *" " * 5)[
            :5
        ]
        if kind != "page" or digest != self._selection.digest:
            raise bad_request(
                "page_token belongs to another query: only page_size may differ between the pages "
                "of a list"
            )
        if epoch != self._epoch:
            raise failure(Expired, "the list has expired: list again from the first page")
        self.version, self._start = version, start

    @property
    def rest(self) -> list[Content]:
        """The objects of this page and of the pages after it."""
        return self.contents[self._start :]

    def token_after(self, count: int) -> str:
        """Return the token of the page after this number of objects; "" if it would be empty."""
        end = self._start + count
        if end >= len(self.contents):
            return ""
        return write_token("page", self._epoch, self.version, end, self._selection.digest)

    def remaining_after(self, count: int) -> int:
        """Return the number of objects that follow this number of objects."""
        return len(self.contents) - self._start - count

    def fill(
        self,
        request: read_pb2.ListRequest,
        response: read_pb2.ListResponse,
        joins: Sequence[Join] = (),
    ) -> None:
        """Add the objects of the page to a response, with their related objects."""
        self.contents = order_of(request.order_by)(self.contents)
        size = 0
        for content in self.rest:
            message = self._selection.encode(content, request.encoding)
            message.joined.extend(join.of(content) for join in joins)
            size += message.ByteSize()
            full = self._size and len(response.objects) == self._size
            if full or (response.objects and size > _PAGE_BYTES):
                break
            response.objects.append(message)
        response.next_page_token = self.token_after(len(response.objects))
        response.remaining_item_count = self.remaining_after(len(response.objects))
        response.resource_version = str(self.version)

    def fill_table(self, response: table_pb2.GetTableResponse) -> None:
        """Add the rows of the page to a response."""
        count = min(self._size or _TABLE_ROWS, _TABLE_ROWS)
        rows = self.rest[:count]
        name = table_pb2.TableColumn(name="Name", type="string", format="name")
        response.columns.extend([name, table_pb2.TableColumn(name="Age", type="string")])
        response.rows.extend(map(_row, rows))
        response.next_page_token = self.token_after(len(rows))
        response.remaining_item_count = self.remaining_after(len(rows))
        response.resource_version = str(self.version)


def _row(content: Content) -> table_pb2.TableRow:
    metadata = content["metadata"]
    return table_pb2.TableRow(
        cells=[to_value(metadata["name"]), to_value(_age(metadata["creationTimestamp"]))],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )


def _age(created: str) -> str:
    since = datetime.now(timezone.utc) - datetime.fromisoformat(created.replace("Z", "+00:00"))
    seconds = max(int(since.total_seconds()), 0)
    return next(
        (text(seconds) for limit, text in _AGES if seconds < limit), f"{seconds // 31_536_000}y"
    )
