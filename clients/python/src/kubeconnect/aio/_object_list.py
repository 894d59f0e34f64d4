"""Paged lists of objects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import grpc

from kubeconnect._columns import Fields
from kubeconnect._data_frames import arrow_of, pandas_of, polars_of, records_of
from kubeconnect._errors import Expired, InvalidArgument
from kubeconnect._freshness import Freshness
from kubeconnect._html import MAX_ROWS, html_table, without_empty
from kubeconnect._indexing import AsyncIndexing
from kubeconnect._messages import Decode
from kubeconnect._objects import Object, Resource
from kubeconnect._reads import Source
from kubeconnect._transport.aio import AsyncTransport
from kubeconnect._types import T
from kubeconnect.v1 import read_pb2 as pb

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from kubeconnect._typed_columns import TypedColumn

R = TypeVar("R")

# How often ``all`` restarts an expired list.
_RESTARTS = 2


class AsyncObjectList(AsyncIndexing[T]):
    """The objects that match a selection, ordered by namespace and name unless ``order_by``
    was given.

    All objects are from one snapshot. The first page has already been fetched. Each further
    page is fetched when an iteration reaches it, and is not cached: store the objects that
    you need, or iterate again. Iterations are independent of each other. Fetching a page
    raises the errors of ``AsyncClient.list``. It raises Expired if neither the service nor
    the API server has the snapshot any more: list again, or call ``all``, which does so by
    itself.

    ``len`` is the ``total``, so that an empty list is false. ``objects[0]`` and slices return
    objects of the first page without a further call. With threads, an index beyond it calls
    ``all`` and keeps the result. With asyncio it raises LookupError: index the result of
    ``all``.

    ``resource`` is the resource and kind of the objects. A list of messages
    (``client.list(Pod)``) raises UnreadableObject at an object that cannot be decoded. A list
    of Objects returns all objects, with the ``error`` of each.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        request: pb.ListRequest,
        first: pb.ListResponse,
        timeout: float | None,
        decode: Decode[T],
        fields: Fields | None = None,
    ) -> None:
        """Begin with the first page, which is the response to ``request`` of these fields."""
        self._fields = fields
        self._decode = decode
        self._transport = transport
        self._request = request
        self._first = first
        self._timeout = timeout
        self._later_warnings: list[str] = []  # of pages after the first one
        self.resource = Resource.from_message(first.resource)

    @property
    def resource_version(self) -> str:
        """The version of the snapshot; an opaque string."""
        return self._first.resource_version

    @property
    def freshness(self) -> Freshness:
        """How current the cache was when the service created the first page."""
        return Freshness.from_message(self._first.freshness)

    @property
    def source(self) -> Source | None:
        """Where the objects were read; None if the service did not report it."""
        return Source.from_message(self._first.source)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Human-readable warnings: that the list covers only some namespaces; for how many
        objects the filter has no value, and why; the API server's warnings; and what joins have
        left out of the objects of the pages that were fetched.
        """
        return tuple(dict.fromkeys([*self._first.warnings, *self._later_warnings]))

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the list covers, if all were requested and the caller is not
        allowed to list all of them. Empty if the list is complete.
        """
        return tuple(self._first.namespaces)

    @property
    def total(self) -> int:
        """The number of objects on all pages together."""
        return len(self._first.objects) + self._first.remaining_item_count

    async def all(self) -> list[T]:
        """Return the objects of all pages. If the list expires between two pages, it is
        restarted, at most twice, and the properties are then those of the new list.
        """
        return await self._collect(lambda each: each)

    async def to_records(self, fields: Fields | None = None) -> list[dict[str, Any]]:
        """Return a dict for each object of all pages. ``fields`` are columns by name, or paths
        that are also their names, and default to the fields of the list; see
        ``kubeconnect.data``.
        """
        return records_of(await self._columns(fields))

    async def to_pandas(self, fields: Fields | None = None) -> pandas.DataFrame:
        """Return a DataFrame of pandas with a row for each object, as ``to_records``.

        Raises ImportError if pandas is not installed.
        """
        return pandas_of(await self._columns(fields))

    async def to_polars(self, fields: Fields | None = None) -> polars.DataFrame:
        """Return a DataFrame of polars with a row for each object, as ``to_records``.

        Raises ImportError if polars is not installed.
        """
        return polars_of(await self._columns(fields))

    async def to_arrow(self, fields: Fields | None = None) -> pyarrow.Table:
        """Return a Table of pyarrow with a row for each object, as ``to_records``.

        Raises ImportError if pyarrow is not installed.
        """
        return arrow_of(await self._columns(fields))

    async def _columns(self, fields: Fields | None) -> list[TypedColumn]:
        from kubeconnect._typed_columns import RowReader  # slow to import

        reader = RowReader(
            (self._fields or None) if fields is None else fields,
            namespaced=self.resource.namespaced,
            selected=self._selected(),
        )
        return reader.columns(await self._collect(reader.row))

    def _selected(self) -> tuple[str, ...]:
        """Return the fields that the objects have; none for all."""
        metadata = ("apiVersion", "kind", "metadata") if self._request.metadata_only else ()
        return tuple(self._request.fields) or metadata

    async def _collect(self, take: Callable[[T], R]) -> list[R]:
        """Return what a function returns for the objects of all pages."""
        for _ in range(_RESTARTS):
            try:
                return [take(each) async for each in self._objects(self._first)]
            except Expired:
                self._first = await self._fetch("")
                self.resource = Resource.from_message(self._first.resource)
                self._indexed = None
        return [take(each) async for each in self._objects(self._first)]

    async def __aiter__(self) -> AsyncIterator[T]:
        """Iterate over the objects of all pages. The message of Expired has the number of
        objects that were returned before.
        """
        returned = 0
        try:
            async for each in self._objects(self._first):
                returned += 1
                yield each
        except Expired as error:
            message = f"list expired after {returned} objects: {error.message}"
            raise Expired(error.code, message, error.status, request_id=error.request_id) from error

    def __repr__(self) -> str:
        """Return the number of objects and the version of the snapshot."""
        return f"<{type(self).__name__}: {self._title}>"

    def _repr_html_(self) -> str:
        """Return the first objects as a table for notebooks, without their content."""
        shown = [Object(each, self.resource) for each in self._first.objects[:MAX_ROWS]]
        rows = [
            (each.namespace, each.name, None if each.error else each.created, each.error)
            for each in shown
        ]
        columns = without_empty(("namespace", "name", "created", "error"), rows)
        more = f", of which {len(shown)} are shown" if len(shown) < len(self) else ""
        return html_table(self._title + more, *columns, notes=self.warnings)

    @property
    def _title(self) -> str:
        return f"{self.total} {self.resource.plural} at version {self.resource_version}"

    def _first_page(self) -> list[T]:
        return [self._decode(message, self.resource) for message in self._first.objects]

    async def _objects(self, page: pb.ListResponse) -> AsyncIterator[T]:
        for message in page.objects:
            yield self._decode(message, self.resource)
        while page.next_page_token:
            page = await self._fetch(page.next_page_token)
            self._later_warnings += (each for each in page.warnings if each not in self.warnings)
            for message in page.objects:
                yield self._decode(message, self.resource)

    async def _fetch(self, token: str) -> pb.ListResponse:
        request = pb.ListRequest()
        request.CopyFrom(self._request)
        request.page_token = token
        try:
            return await self._transport.read(
                self._transport.resources.List, request, self._timeout
            )
        except InvalidArgument as error:
            if not token:
                raise
            # The first page was not rejected: the token is of another version of the service.
            code = grpc.StatusCode.OUT_OF_RANGE
            raise Expired(code, error.message, error.status, request_id=error.request_id) from error
