"""The store for programs that use `asyncio`: each call runs in a thread of the default executor.

    async with await terrace.aio.open("store") as db:
        await db.put(b"key", b"value")

An event loop is never blocked by the store. A call has its own cost of about 50 microseconds; for
many small reads in a row, `await asyncio.to_thread(function)` with the plain store is faster.
"""

from __future__ import annotations

import asyncio
import functools
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Optional, TypeVar

import terrace

T = TypeVar("T")

__all__ = ["AsyncDb", "open"]

# Entries that one call to a thread fetches.
_AT_ONCE = 256


async def open(path: Any, **options: Any) -> AsyncDb:
    """Opens a store as `terrace.open` does."""
    return AsyncDb(await _run(terrace.open, path, **options))


async def _run(call: Callable[..., T], *args: Any, **keywords: Any) -> T:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, functools.partial(call, *args, **keywords))


class AsyncDb:
    """A store whose calls are awaited. `db` is the plain store."""

    def __init__(self, db: terrace.Db) -> None:
        self.db = db

    async def get(self, key: Any, default: Any = None) -> Any:
        return await _run(self.db.get, key, default)

    async def put(self, key: Any, value: Any, *, sync: bool = False, ttl: Any = None) -> None:
        await _run(self.db.put, key, value, sync=sync, ttl=ttl)

    async def merge(self, key: Any, operand: Any, *, sync: bool = False) -> None:
        await _run(self.db.merge, key, operand, sync=sync)

    async def add(self, key: Any, amount: int = 1, *, sync: bool = False) -> None:
        await _run(self.db.add, key, amount, sync=sync)

    async def delete(self, key: Any, *, sync: bool = False) -> None:
        await _run(self.db.delete, key, sync=sync)

    async def put_if(self, key: Any, expected: Any, value: Any, *, ttl: Any = None) -> bool:
        return await _run(self.db.put_if, key, expected, value, ttl=ttl)

    async def transact(self, attempt: Callable[[terrace.Transaction], T]) -> T:
        """As `terrace.transact`; `attempt` is a plain function, and runs in a thread."""
        return await _run(terrace.transact, self.db, attempt)

    async def iterator(self, **keywords: Any) -> AsyncIterator[Any]:
        """The entries of a range, with the keywords of `Db.iterator`."""
        entries = await _run(self.db.iterator, **keywords)
        try:
            while batch := await _run(_take, entries):
                for entry in batch:
                    yield entry
        finally:
            await _run(entries.close)

    async def sync(self) -> None:
        await _run(self.db.sync)

    async def close(self) -> None:
        await _run(self.db.close)

    async def __aenter__(self) -> AsyncDb:
        return self

    async def __aexit__(
        self,
        exception: Optional[type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()


def _take(entries: terrace.Iterator) -> list[Any]:
    taken = []
    for entry in entries:
        taken.append(entry)
        if len(taken) == _AT_ONCE:
            break
    return taken
