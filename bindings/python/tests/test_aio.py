"""The store under asyncio."""

import asyncio

import pytest

import terrace.aio


def test_calls_are_awaited_and_iterators_are_asynchronous(tmp_path):
    async def main():
        async with await terrace.aio.open(tmp_path / "store") as db:
            await asyncio.gather(*(db.put(b"%03d" % n, b"v") for n in range(600)))
            assert await db.get(b"007") == b"v" and await db.get(b"x", b"-") == b"-"
            await db.delete(b"007")
            assert await db.put_if(b"007", None, b"again")
            assert await db.transact(lambda t: t.get(b"007")) == b"again"
            with pytest.raises(terrace.InvalidError):
                await db.merge(b"words", b"word")
            await db.sync()
            return [key async for key in db.iterator(include_value=False)]

    assert asyncio.run(main()) == [b"%03d" % n for n in range(600)]
