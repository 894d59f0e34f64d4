"""Access by index to the items of a list that is fetched in pages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class _Indexing(ABC, Generic[T]):
    """The length and the indexes of a list. The items of the first page need no further call."""

    _indexed: list[T] | None = None  # the first page, or all items

    @property
    @abstractmethod
    def total(self) -> int:
        """The number of items on all pages together."""

    @abstractmethod
    def _first_page(self) -> list[T]:
        """Return the items of the first page."""

    @abstractmethod
    def _all_pages(self) -> list[T]:
        """Return the items of all pages."""

    def __len__(self) -> int:
        """Return the number of items on all pages together."""
        return self.total

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        """Return an item, or a list of items."""
        if self._indexed is None:
            self._indexed = self._first_page()
        wanted = range(self.total)[index]
        last = max(wanted, default=-1) if isinstance(wanted, range) else wanted
        if last >= len(self._indexed):
            self._indexed = self._all_pages()
        items = self._indexed
        return [items[each] for each in wanted] if isinstance(wanted, range) else items[wanted]


class Indexing(_Indexing[T]):
    """A list for threads. It fetches and keeps all pages if an item is beyond the first one."""

    @abstractmethod
    def all(self) -> list[T]:
        """Return the items of all pages."""

    def _all_pages(self) -> list[T]:
        return self.all()


class AsyncIndexing(_Indexing[T]):
    """A list for asyncio. An index cannot be awaited, so that it reaches the first page only."""

    # Without this, ``for`` would use the indexes.
    __iter__ = None

    @abstractmethod
    def all(self) -> Awaitable[list[T]]:
        """Return the items of all pages."""

    def _all_pages(self) -> list[T]:
        raise LookupError("the item is not on the first page: use (await objects.all())[index]")
