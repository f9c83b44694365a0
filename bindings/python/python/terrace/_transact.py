"""Repeats a transaction until its commit finds no conflict."""

from __future__ import annotations

from typing import Callable, TypeVar

from ._terrace import ConflictError, Db, Transaction

T = TypeVar("T")


def transact(db: Db, attempt: Callable[[Transaction], T]) -> T:
    """Calls `attempt` with a transaction and commits it, until the commit finds no conflict.

    Returns the result of the last attempt. An exception of the attempt ends it, and nothing is
    written. Of transactions that conflict, one always succeeds.
    """
    while True:
        transaction = db.transaction()
        try:
            result = attempt(transaction)
        except BaseException:
            transaction.rollback()
            raise
        try:
            transaction.commit()
        except ConflictError:
            continue
        return result
