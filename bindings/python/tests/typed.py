"""Checked by mypy, not run: the stubs give the types that users see."""

from typing import Optional

import terrace
import terrace.aio


def use(db: terrace.Db) -> None:
    value: Optional[bytes] = db.get(b"key")
    other: bytes | int = db.get(b"key", 5)
    view: Optional[memoryview] = db.get_view(bytearray(b"key"))
    with db.write_batch(transaction=True) as batch:
        batch.put(b"key", memoryview(b"value"), key_space=db.key_space("users"))
    count: int = terrace.transact(db, lambda t: len(t.scan(prefix=b"k", limit=3)))
    with terrace.open("store", counters=True, compaction_rate=1 << 20) as counted:
        counted.add(b"key", 3)
        number: int = terrace.number(counted.get(b"key"))
        counted.key_space("sessions", ttl=60, compression="zstd").approximate_size(b"a", b"b")
        rows: int = counted.put_arrow(db.scan_arrow(prefix=b"k", batch=100), sync=True)
    print(number, rows)
    with terrace.open("store", compaction_filter=lambda key, value: value != b""):
        pass
    filters = {"users": lambda key, value: len(key) > 3}
    with terrace.open("store", compaction_filter=filters):
        pass
    with terrace.open_reader("store", max_age=0.5) as reader:
        found: Optional[bytes] = reader.get(b"key", key_space="users")
        entries: list[tuple[bytes, bytes]] = list(reader.iterator(prefix=b"k", going_on=True))
    print(found, entries, reader.refresh())
    print(value, other, view, count, db.stats()["flushes"])


async def use_later() -> None:
    async with await terrace.aio.open("store") as db:
        await db.put(b"key", b"value")
