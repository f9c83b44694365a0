"""Terrace: a key-value store for zoned storage.

    import terrace

    with terrace.open("store") as db:           # a directory, an image or a block device
        db.put(b"greeting", b"hello")
        for key, value in db.iterator(prefix=b"gre"):
            print(key, value)

The calls of `plyvel` have the same names and keywords here. Keys and values are bytes, or any
object with a buffer of bytes.
"""

from ._terrace import (
    ArrowScan,
    ClosedError,
    ConflictError,
    CorruptionError,
    Db,
    Error,
    InUseError,
    InvalidError,
    Iterator,
    KeySpace,
    MovedError,
    NoSpaceError,
    NotFoundError,
    Reader,
    ReaderScan,
    Snapshot,
    Transaction,
    WriteBatch,
    __version__,
    create_image,
    number,
    open,
    open_reader,
)
from ._transact import transact

__all__ = [
    "ArrowScan",
    "ClosedError",
    "ConflictError",
    "CorruptionError",
    "Db",
    "Error",
    "InUseError",
    "InvalidError",
    "Iterator",
    "KeySpace",
    "MovedError",
    "NoSpaceError",
    "NotFoundError",
    "Reader",
    "ReaderScan",
    "Snapshot",
    "Transaction",
    "WriteBatch",
    "__version__",
    "create_image",
    "number",
    "open",
    "open_reader",
    "transact",
]
