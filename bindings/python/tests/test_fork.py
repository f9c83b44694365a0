"""Children of `fork`: they leave the store to their parent, and never wait for its threads.

Each test runs a program of its own, since a child must not have the threads of the test runner.
"""

import os
import signal
import subprocess
import sys

import pytest

import terrace

# What the programs share. `handles` has an object of each kind; a child has an alarm, so that one
# that hangs ends by a signal.
BEGIN = """
import gc, os, signal, subprocess, sys, threading, time
import pyarrow as pa
import terrace

path, arguments = sys.argv[1], sys.argv[2:]


def handles(db):
    walk, stream = db.iterator(), pa.RecordBatchReader.from_stream(db.scan_arrow(batch=1))
    next(walk, None)
    return {
        "iterator": walk,
        "snapshot": db.snapshot(),
        "snapshot iterator": db.snapshot().iterator(),
        "transaction": db.transaction(),
        "scan_arrow": db.scan_arrow(),
        "stream": stream,
        "batch": db.write_batch(),
        "key space": db.key_space("default"),
    }


def close(handle):
    for name in ("close", "rollback", "clear"):
        getattr(handle, name, lambda: None)()


def refused(call, told="child"):
    try:
        call()
    except (terrace.ClosedError, OSError) as error:
        assert told in str(error), error
    else:
        raise AssertionError(f"expected an error that tells of a {told}")


def child(work):
    pid = os.fork()
    if pid == 0:
        signal.alarm(10)
        work()
        sys.exit(0)
    return os.waitpid(pid, 0)[1]
"""


def run(program, path, *arguments):
    command = [sys.executable, "-c", BEGIN + program, str(path), *arguments]
    started = subprocess.Popen(command, start_new_session=True)
    try:
        assert started.wait(timeout=60) == 0
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)


FORKS = """
db = terrace.open(path)
db.put(b"before", b"1")
batch, t = db.write_batch(), db.transaction()
batch.put(b"child", b"")
t.put(b"child", b"")


def work():
    global db
    if arguments == ["with"]:
        with db:
            sys.exit(0)
    if arguments == ["del"]:
        del db
    if arguments == ["write"]:
        new = [db.write_batch, db.transaction, lambda: db.key_space("x")]
        for call in [batch.write, t.commit, lambda: db.put(b"child", b"")] + new:
            refused(call)
    if arguments == ["open"]:
        refused(lambda: terrace.open(path + "-other"), "spawn")
        refused(lambda: terrace.open_reader(path), "spawn")
        assert not os.path.exists(path + "-other")


assert child(work) == 0
opens = [sys.executable, "-c", "import sys, terrace; terrace.open(sys.argv[1])", path]
other = subprocess.run(opens, stderr=subprocess.PIPE, text=True)
assert other.returncode != 0 and "InUseError" in other.stderr, other
db.put(b"after", b"2", sync=True)
db.close()


def work():
    with terrace.open_reader(path) as reader:
        assert reader.get(b"after") == b"2"
    with terrace.open(path) as db:
        assert db.get(b"after") == b"2"


assert child(work) == 0
"""


@pytest.mark.parametrize("end", ["with", "del", "exit", "write", "open"])
def test_a_child_leaves_the_store_to_its_parent(tmp_path, end):
    path = tmp_path / "store"
    run(FORKS, path, end)
    with terrace.open(path) as db:
        assert list(db) == [(b"after", b"2"), (b"before", b"1")]


ENDS = """
db = terrace.open(path)
for number in range(3000):
    db.put(b"%07d" % number, bytes(200))
db.flush()
stopped = False


def use():
    number = 0
    while not stopped:
        number += 1
        with db.snapshot() as snapshot, db.iterator() as walk:
            snapshot.get(b"%07d" % (number % 3000))
            next(walk)
        t = db.transaction()
        t.get(b"%07d" % (number % 3000))
        t.rollback()
        reader.get(b"%07d" % (number % 3000))


reader = terrace.open_reader(path)
held = [handles(db) for _ in range(20)]
for each in held:
    each["reader"], each["view"] = terrace.open_reader(path), db.get_view(b"0000000")
    each["reader iterator"] = each["reader"].iterator()
    next(each["reader iterator"])
threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads:
    thread.start()
try:
    for kind in held[0]:
        for end in ("exit", "close", "drop"):

            def work():
                for each in held:
                    if end == "close":
                        close(each[kind])
                    if end == "drop":
                        del each[kind]
                if end != "exit":
                    gc.collect()
                    os._exit(0)

            status = child(work)
            assert status == 0, (kind, end, status)
finally:
    stopped = True
    for thread in threads:
        thread.join()
for each in held:
    assert next(each["iterator"])[0] == b"0000001"
    assert each["snapshot"].get(b"0000001") == each["transaction"].get(b"0000001") == bytes(200)
    assert each["stream"].read_next_batch().num_rows == 1
db.close()
"""


def test_the_end_of_a_child_waits_for_no_thread_of_the_parent(tmp_path):
    run(ENDS, tmp_path / "store")


READS = """
db = terrace.open(path)
for number in range(100):
    db.put(b"%07d" % number, b"value")
space, reader, got = db.key_space("other"), terrace.open_reader(path), handles(db)
scanned, viewed = iter(reader), db.get_view(b"0000000")
walk, snapshot, t, batch = (got[k] for k in ("iterator", "snapshot", "transaction", "batch"))


def work():
    key = b"0000001"
    for each in (db, space):
        refused(lambda: each.get(key))
        refused(lambda: each[key])
        refused(lambda: key in each)
        refused(lambda: iter(each))
        refused(lambda: each.get_view(key))
        refused(lambda: each.multi_get([key]))
        refused(lambda: each.scan_arrow())
        refused(lambda: each.is_empty())
        refused(lambda: each.approximate_size(b"0", b"1"))
    for call in (db.stats, db.verify, db.key_spaces, db.snapshot, lambda: db.live_socket):
        refused(call)
    # The snapshot has the same key space, and another one.
    refused(lambda: snapshot.get(key))
    refused(lambda: snapshot.get(key, key_space=space))
    refused(lambda: key in snapshot)
    refused(snapshot.iterator)
    refused(lambda: t.get(key))
    refused(t.scan)
    refused(lambda: t.put(key, b""))
    refused(lambda: [next(walk) for _ in range(100)])
    refused(walk.prev)
    refused(lambda: walk.seek(key))
    refused(walk.seek_to_start)
    refused(got["stream"].read_next_batch)
    refused(got["scan_arrow"].__arrow_c_stream__)
    refused(lambda: batch.put(key, b""))
    refused(lambda: len(batch))
    refused(lambda: reader.get(key))
    refused(lambda: reader.multi_get([key]))
    refused(reader.refresh)
    refused(reader.stats)
    refused(reader.key_spaces)
    refused(lambda: next(scanned))
    # These say nothing of the entries.
    assert viewed == b"value" and space.name == "other" and db.durability
    assert "other" in repr(space) and path in repr(db) and path in repr(reader)
    # The exception of a block is not replaced.
    for manager in (db, snapshot, t, walk, reader, db_batch):
        try:
            with manager:
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass


db_batch = db.write_batch(transaction=True)
assert child(work) == 0
assert snapshot.get(b"0000001") == t.get(b"0000001") == reader.get(b"0000001") == b"value"
assert len(list(walk)) == 99 and len(list(scanned)) == 100 and db.stats()
batch.write()
t.commit()
db.close()
"""


def test_reads_in_a_child_are_refused(tmp_path):
    run(READS, tmp_path / "store")


COUNTS = """
def opens(name):
    def work():
        try:
            terrace.open(name).close()
        except terrace.ClosedError as error:
            assert "spawn" in str(error)
            os._exit(7)

    status = child(work)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 7), status
    return os.WEXITSTATUS(status) == 0


def kept(kind):
    reader = kind.startswith("reader")
    if reader:
        read = terrace.open_reader(path)
        return iter(read) if kind == "reader iterator" else read
    return handles(terrace.open(path))[kind]


with terrace.open(path) as db:
    db.put(b"key", b"value")
assert opens(path + "-child")
for kind in [*handles(terrace.open(path)), "reader", "reader iterator"]:
    handle = kept(kind)
    gc.collect()
    assert not opens(path + "-child"), kind
    close(handle)
    if not hasattr(handle, "close") or kind == "stream":
        del handle
    assert opens(path + "-child"), kind
# A store that is closed does not count, whatever is left of it.
db = terrace.open(path)
left = handles(db)
db.close()
assert opens(path + "-child")
"""


def test_any_handle_counts_as_an_open_store_until_it_is_closed_or_dropped(tmp_path):
    run(COUNTS, tmp_path / "store")


FILTERS = """
calls, ends = threading.Event(), threading.Event()


def keep(key, value):
    calls.set()
    ends.wait()
    return True


db = terrace.open(path, compaction_filter=keep)
for _ in range(2):
    db.put(b"key", b"value")
    db.flush()
thread = threading.Thread(target=db.compact_range)
thread.start()
assert calls.wait(30)
status = child(lambda: None)
ends.set()
thread.join()
db.close()
assert status == 0, status
"""


def test_the_end_of_a_child_waits_for_no_filter_of_the_parent(tmp_path):
    run(FILTERS, tmp_path / "store")


SOURCES = """
schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
forked = []


def batches():
    yield pa.record_batch([[b"parent"], [b""]], schema)
    forked.append(os.fork())
    yield pa.record_batch([[b"child" if forked[0] == 0 else b"parent too"], [b""]], schema)


with terrace.open(path) as db:
    try:
        stored = db.put_arrow(pa.RecordBatchReader.from_batches(schema, batches()))
    except terrace.ClosedError as error:
        os._exit(0 if forked[0] == 0 and error.stored == 1 else 1)
    if forked[0] == 0:
        os._exit(2)
    assert os.waitpid(forked[0], 0)[1] == 0
    assert stored == 2 and [key for key, _ in db] == [b"parent", b"parent too"]
"""


def test_a_source_of_rows_that_forks_stores_nothing_in_the_child(tmp_path):
    run(SOURCES, tmp_path / "store")
