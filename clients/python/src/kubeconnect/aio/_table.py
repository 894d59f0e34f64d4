"""Paged tables."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from kubeconnect._data_frames import arrow_of, pandas_of, polars_of, records_of
from kubeconnect._html import MAX_ROWS, html_table
from kubeconnect._objects import Resource
from kubeconnect._tables import TableColumn, TableRow
from kubeconnect._transport.aio import AsyncTransport
from kubeconnect.v1 import table_pb2 as pb

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from kubeconnect._typed_columns import TypedColumn


class AsyncTable:
    """A table of objects as the API server prints them: a row for each object, ordered by
    namespace and name.

    The first page has already been fetched. Each further page is fetched when an iteration
    reaches it, and is not cached, as in a list. Fetching a page raises the errors of
    ``AsyncClient.table``. It raises Expired if more than about five minutes have passed
    since the first page: request the table again.

    ``resource`` is the resource and kind of the objects, and ``columns`` are the columns of the
    table. A table without rows is false. It has no length, because the API server does not always
    report the number of rows.
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

    def __bool__(self) -> bool:
        """Return whether the table has rows."""
        return bool(self._first.rows)

    def __repr__(self) -> str:
        """Return the number of rows on the first page and the names of the columns."""
        return f"<{type(self).__name__}: {self._title} ({', '.join(self._headings())})>"

    def _repr_html_(self) -> str:
        """Return the first rows as a table for notebooks, with the columns that kubectl prints."""
        narrow = [index for index, column in enumerate(self.columns) if column.priority == 0]
        shown = [TableRow.from_message(each) for each in self._first.rows[:MAX_ROWS]]
        rows = [[row.namespace, *(row.cells[index] for index in narrow)] for row in shown]
        headings = ["Namespace", *self._headings()]
        if not self.resource.namespaced:
            headings, rows = headings[1:], [row[1:] for row in rows]
        is_part = len(shown) < len(self._first.rows) or self._first.next_page_token
        more = f", of which {len(shown)} are shown" if is_part else ""
        return html_table(self._title + more, headings, rows, notes=self.warnings)

    @property
    def _title(self) -> str:
        more = "+" if self._first.next_page_token else ""
        return f"{len(self._first.rows)}{more} {self.resource.plural}"

    def _headings(self) -> list[str]:
        return [column.name for column in self.columns if column.priority == 0]

    async def __aiter__(self) -> AsyncIterator[TableRow]:
        """Iterate over the rows of all pages."""
        page = self._first
        for message in page.rows:
            yield TableRow.from_message(message)
        while page.next_page_token:
            page = await self._fetch(page.next_page_token)
            for message in page.rows:
                yield TableRow.from_message(message)

    async def to_records(self) -> list[dict[str, Any]]:
        """Return a dict for each row of all pages: the ``Namespace`` and all columns, those of
        wide output too. A second column with the name "Age" is "Age_2".
        """
        return records_of(await self._typed_columns())

    async def to_pandas(self) -> pandas.DataFrame:
        """Return the rows of all pages as a DataFrame of pandas, as ``to_records``.

        Raises ImportError if pandas is not installed.
        """
        return pandas_of(await self._typed_columns())

    async def to_polars(self) -> polars.DataFrame:
        """Return the rows of all pages as a DataFrame of polars, as ``to_records``.

        Raises ImportError if polars is not installed.
        """
        return polars_of(await self._typed_columns())

    async def to_arrow(self) -> pyarrow.Table:
        """Return the rows of all pages as a Table of pyarrow, as ``to_records``.

        Raises ImportError if pyarrow is not installed.
        """
        return arrow_of(await self._typed_columns())

    async def _typed_columns(self) -> list[TypedColumn]:
        from kubeconnect._typed_columns import read_table  # slow to import

        rows = [row async for row in self]
        return read_table(self.columns, rows, namespaced=self.resource.namespaced)

    async def _fetch(self, token: str) -> pb.GetTableResponse:
        request = pb.GetTableRequest()
        request.CopyFrom(self._request)
        request.page_token = token
        return await self._transport.read(
            self._transport.resources.GetTable, request, self._timeout
        )
