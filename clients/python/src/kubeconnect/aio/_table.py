"""Paged tables."""

from __future__ import annotations

from collections.abc import AsyncIterator

from kubeconnect._objects import Resource
from kubeconnect._tables import TableColumn, TableRow
from kubeconnect._transport.aio import AsyncTransport
from kubeconnect.v1 import table_pb2 as pb


class AsyncTable:
    """A table of objects as the API server prints them: a row for each object, ordered by
    namespace and name.

    The first page has already been fetched. Each further page is fetched when an iteration
    reaches it, and is not cached, as in a list. Fetching a page raises the errors of
    ``AsyncClient.table``. It raises Expired if more than about five minutes have passed
    since the first page: request the table again.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        request: pb.GetTableRequest,
        first: pb.GetTableResponse,
        timeout: float | None,
    ) -> None:
        """Begin with the first page, which is the response to ``request``."""
        self._transport = transport
        self._request = request
        self._first = first
        self._timeout = timeout
        self.resource = Resource.from_message(first.resource)
        self.columns = tuple(map(TableColumn.from_message, first.columns))

    @property
    def resource_version(self) -> str:
        """The resource version of the table; an opaque string."""
        return self._first.resource_version

    @property
    def warnings(self) -> tuple[str, ...]:
        """The API server's warnings, human-readable."""
        return tuple(self._first.warnings)

    async def __aiter__(self) -> AsyncIterator[TableRow]:
        """Iterate over the rows of all pages."""
        page = self._first
        for message in page.rows:
            yield TableRow.from_message(message)
        while page.next_page_token:
            page = await self._fetch(page.next_page_token)
            for message in page.rows:
                yield TableRow.from_message(message)

    async def _fetch(self, token: str) -> pb.GetTableResponse:
        request = pb.GetTableRequest()
        request.CopyFrom(self._request)
        request.page_token = token
        return await self._transport.read(
            self._transport.resources.GetTable, request, self._timeout
        )
