"""The store by its calls, the calls of plyvel first."""

import datetime
import os
import socket
import threading

import pytest

import terrace


@pytest.fixture()
def db(tmp_path):
    with terrace.open(tmp_path / "store") as db:
        yield db


def fill(db, keys=(b"a", b"b", b"c", b"d")):
    for key in keys:
        db.put(key, key.upper())


def test_get_put_delete(db):
    assert db.get(b"key") is None
    assert db.get(b"key", b"other") == b"other"
    db.put(b"key", b"value")
    assert db.get(b"key") == b"value"
    db.put(b"key", b"newer", sync=True)
    assert db.get(b"key", b"other") == b"newer"
    db.delete(b"key")
    db.delete(b"key")
    assert db.get(b"key") is None
    db.put(b"", b"")
    assert db.get(b"") == b""


def test_any_buffer_is_a_key_or_a_value(db):
    db.put(bytearray(b"key"), memoryview(b"value"))
    assert db.get(memoryview(b"xkey")[1:]) == b"value"
    assert db.multi_get([b"key", bytearray(b"gone")]) == [b"value", None]
    for wrong in ("text", 5, None):
        with pytest.raises(TypeError, match="expected bytes"):
            db.put(wrong, b"value")
        with pytest.raises(TypeError):
            db.get(wrong)


def test_a_view_outlives_its_entry_and_the_store(tmp_path):
    db = terrace.open(tmp_path / "store")
    db.put(b"key", b"value" * 1000)
    view = db.get_view(b"key")
    assert db.get_view(b"gone") is None
    db.delete(b"key")
    db.flush()
    db.close()
    del db
    assert isinstance(view, memoryview) and view.readonly
    assert view[:10] == b"valuevalue" and len(view) == 5000


def test_a_store_is_a_mapping(db):
    db[b"a"] = b"1"
    assert db[b"a"] == b"1" and b"a" in db and b"b" not in db
    with pytest.raises(KeyError):
        db[b"b"]
    del db[b"a"]
    assert b"a" not in db
    fill(db)
    assert list(db) == [(key, key.upper()) for key in (b"a", b"b", b"c", b"d")]


@pytest.mark.parametrize(
    "keywords, expected",
    [
        ({}, b"abcd"),
        ({"start": b"b"}, b"bcd"),
        ({"start": b"b", "include_start": False}, b"cd"),
        ({"stop": b"c"}, b"ab"),
        ({"stop": b"c", "include_stop": True}, b"abc"),
        ({"start": b"b", "stop": b"d"}, b"bc"),
        ({"start": b"bb", "stop": b"cc"}, b"c"),
        ({"prefix": b"c"}, b"c"),
        ({"prefix": b"x"}, b""),
        ({"start": b"d", "stop": b"b"}, b""),
        ({"reverse": True}, b"dcba"),
        ({"reverse": True, "start": b"b"}, b"dcb"),
        ({"reverse": True, "start": b"b", "stop": b"d", "include_stop": True}, b"dcb"),
    ],
)
def test_ranges(db, keywords, expected):
    fill(db)
    keys = list(db.iterator(include_value=False, **keywords))
    assert b"".join(keys) == expected
    assert list(db.iterator(include_key=False, **keywords)) == [key.upper() for key in keys]
    with db.snapshot() as snapshot:
        db.put(b"bbb", b"later")
        assert list(snapshot.iterator(include_value=False, **keywords)) == keys


def test_an_iterator_goes_both_ways(db):
    fill(db)
    for reverse, order in ((False, b"abcd"), (True, b"dcba")):
        keys = [bytes([letter]) for letter in order]
        walk = db.iterator(include_value=False, reverse=reverse)
        assert next(walk) == keys[0] and next(walk) == keys[1]
        assert walk.prev() == keys[1] and walk.prev() == keys[0]
        with pytest.raises(StopIteration):
            walk.prev()
        assert list(walk) == keys
        with pytest.raises(StopIteration):
            next(walk)
        assert walk.prev() == keys[3] and walk.prev() == keys[2]
        walk.seek(b"c")
        assert next(walk) == b"c"
        assert walk.prev() == b"c"
        walk.seek_to_stop()
        assert walk.prev() == keys[3]
        walk.seek_to_start()
        assert list(walk) == keys
        walk.close()
        with pytest.raises(terrace.ClosedError):
            next(walk)


def test_long_walks_and_changes_of_direction_pass_each_entry_once(db):
    expected = [b"%05d" % number for number in range(1000)]
    fill(db, expected)
    walk = db.iterator(include_value=False)
    seen = [next(walk) for _ in range(300)]
    back = [walk.prev() for _ in range(200)]
    assert back == expected[299:99:-1]
    assert seen[:100] + list(walk) == expected
    assert list(db.iterator(include_value=False, reverse=True)) == expected[::-1]


def test_batches(db):
    with db.write_batch() as batch:
        batch.put(b"a", b"1")
        batch.delete(b"b")
        assert len(batch) == 2 and batch.byte_size > 0
        assert db.get(b"a") is None
    assert db.get(b"a") == b"1"
    with pytest.raises(ZeroDivisionError):
        with db.write_batch(transaction=True) as batch:
            batch.put(b"a", b"2")
            raise ZeroDivisionError
    assert db.get(b"a") == b"1"
    with pytest.raises(ZeroDivisionError):
        with db.write_batch(sync=True) as batch:
            batch.put(b"a", b"3")
            raise ZeroDivisionError
    assert db.get(b"a") == b"3"
    fill(db)
    batch = db.write_batch()
    batch.delete_range(b"b", b"d")
    batch.clear()
    batch.delete_range(prefix=b"a")
    batch.write()
    assert list(db.iterator(include_value=False)) == [b"b", b"c", b"d"]
    db.delete_range(start=b"c")
    assert list(db.iterator(include_value=False)) == [b"b"]


def test_a_batch_that_cannot_be_written_keeps_its_writes(db):
    gone = db.key_space("gone")
    batch = db.write_batch()
    batch.put(b"a", b"1")
    batch.put(b"b", b"2", key_space=gone)
    db.drop_key_space("gone")
    for _ in range(2):
        with pytest.raises(terrace.NotFoundError):
            batch.write()
        assert len(batch) == 2 and db.get(b"a") is None
    batch.clear()
    batch.put(b"a", b"3")
    batch.write()
    assert len(batch) == 0 and db.get(b"a") == b"3"


def test_key_spaces(db):
    users = db.key_space("users")
    users.put(b"a", b"in users")
    assert db.get(b"a") is None and users.name == "users" and db.name == "default"
    assert sorted(db.key_spaces()) == ["default", "users"]
    with db.write_batch() as batch:
        batch.put(b"a", b"1")
        batch.put(b"b", b"2", key_space=users)
    with db.snapshot() as snapshot:
        users.put(b"b", b"3")
        assert snapshot.get(b"b", key_space=users) == b"2" and b"a" in snapshot
    with pytest.raises(terrace.ClosedError):
        snapshot.get(b"b")
    assert list(users) == [(b"a", b"in users"), (b"b", b"3")]
    assert db.drop_key_space("users") and not db.drop_key_space("users")
    with pytest.raises(terrace.NotFoundError):
        db.key_space("users", create=False)
    with pytest.raises(terrace.NotFoundError):
        users.get(b"a")


def test_entries_expire(db):
    hour = datetime.timedelta(hours=1)
    db.put(b"long", b"1", ttl=3600)
    db.put(b"long too", b"1", ttl=hour, sync=True)
    assert db.get(b"long") == b"1" and db.get(b"long too") == b"1"
    db.put(b"long", b"2", ttl=0)
    assert db.get(b"long") is None
    with db.write_batch() as batch:
        batch.put(b"long", b"3", ttl=hour)
        batch.put(b"long too", b"3", ttl=0.0)
    assert list(db) == [(b"long", b"3")]
    with db.transaction() as t:
        t.put(b"long", b"4", ttl=0)
        t.put(b"other", b"4", ttl=1e6)
    assert list(db) == [(b"other", b"4")]
    assert db.put_if(b"lease", None, b"ada", ttl=hour)
    assert not db.put_if(b"lease", None, b"grace", ttl=hour)
    assert db.put_if(b"lease", b"ada", b"ada", ttl=0)
    assert db.put_if(b"lease", None, b"grace", ttl=hour)
    for wrong in (-1, float("nan"), float("inf"), 1e300, -hour):
        with pytest.raises(ValueError, match="expected a ttl of 0 to 1.8e19 seconds, found"):
            db.put(b"key", b"value", ttl=wrong)
    with pytest.raises(TypeError, match="ttl"):
        db.put(b"key", b"value", ttl="soon")


def test_counters(tmp_path):
    path = tmp_path / "store"
    with terrace.open(path, counters=True) as db:
        assert terrace.number(db.get(b"visits")) == 0
        db.add(b"visits")
        db.add(b"visits", 10, sync=True)
        db.merge(b"visits", (-3).to_bytes(8, "little", signed=True))
        assert terrace.number(db.get(b"visits")) == 8
        users = db.key_space("users")
        with db.write_batch() as batch:
            batch.add(b"visits", 2)
            batch.merge(b"visits", (1).to_bytes(8, "little"), key_space=users)
        with db.transaction() as t:
            t.add(b"visits")
            assert terrace.number(t.get(b"other")) == 0
            db.add(b"visits")  # no conflict: the transaction has not read the key
            t.merge(b"visits", (1).to_bytes(8, "little"), key_space=users)
        assert terrace.number(db.get(b"visits")) == 12
        assert terrace.number(users.get(b"visits")) == 2
        db.flush()
        db.compact_range()
        for wrong in (1 << 63, -(1 << 63) - 1):
            with pytest.raises(OverflowError):
                db.add(b"visits", wrong)
        db.put(b"text", b"four")
        db.add(b"text")
        with pytest.raises(terrace.InvalidError) as error:
            db.get(b"text")
        assert error.value.kind == "MergeOperator"
    for wrong in (b"", b"text", bytes(9)):
        with pytest.raises(terrace.InvalidError, match="8 bytes"):
            terrace.number(wrong)
    with terrace.open(path) as db:
        db.add(b"visits", 30)
        assert terrace.number(db.get(b"visits")) == 42
    with pytest.raises(terrace.InvalidError, match="counter"):
        terrace.open(path, append=b",")


def test_no_addition_is_lost_between_threads(tmp_path):
    with terrace.open(tmp_path / "store", counters=True, memtable_size=64 << 10) as db:

        def work():
            for number in range(1000):
                db.add(b"%d" % (number % 10))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [terrace.number(value) for _, value in db] == [400] * 10


def test_appended_values(tmp_path):
    options = {"compaction_rate": 64 << 20, "map_tables": False}
    with terrace.open(tmp_path / "store", append=b", ", **options) as db:
        for word in (b"one", b"two"):
            db.merge(b"words", word)
        with db.snapshot() as snapshot:
            db.merge(b"words", b"three")
            assert snapshot.get(b"words") == b"one, two"
        users = db.key_space("users")
        for add in (db.add, users.add, db.write_batch().add, db.transaction().add):
            with pytest.raises(terrace.InvalidError, match="append"):
                add(b"words")
        db.flush()
        assert list(db) == [(b"words", b"one, two, three")]
    with terrace.open(tmp_path / "store") as db:  # which remembers the operator
        db.merge(b"words", b"four")
        with pytest.raises(terrace.InvalidError, match="counters=True.*found one with append"):
            db.add(b"words")
        assert db.get(b"words") == b"one, two, three, four"
    with terrace.open(tmp_path / "other") as db:
        with pytest.raises(terrace.InvalidError, match="counters=True.*found one without"):
            db.add(b"words")
        with pytest.raises(terrace.InvalidError) as error:
            db.merge(b"words", b"one")
        assert error.value.kind == "MergeOperator" and db.get(b"words") is None
    with pytest.raises(terrace.InvalidError, match="one operator"):
        terrace.open(tmp_path / "third", counters=True, append=b"")


def test_facts_about_ranges(db):
    fill(db)
    assert db.is_empty(b"bb", b"c") and not db.is_empty(b"b") and not db.is_empty()
    assert db.is_empty(prefix=b"x") and not db.is_empty(prefix=b"d")
    assert db.key_space("other").is_empty()
    assert db.approximate_size(b"a", b"z") == 0, "tables alone count"
    db.put(b"bb", os.urandom(100_000))
    db.flush()
    assert 100_000 <= db.approximate_size(b"b", b"c") < 120_000
    assert db.approximate_sizes() == []
    small, large = db.approximate_sizes((b"x", b"z"), (bytearray(b"a"), b"z"))
    assert small == 0 and large >= 100_000
    with pytest.raises(TypeError):
        db.approximate_sizes(b"a", b"z")


def test_a_key_space_has_options_of_its_own(tmp_path):
    hour = datetime.timedelta(hours=1)
    with terrace.open(tmp_path / "store") as db:
        sessions = db.key_space("sessions", ttl=0.001, filter_bits=0, compression="zstd")
        sessions.put(b"ada", b"token")
        sessions.put(b"bob", b"token", ttl=hour)
        deadline = datetime.datetime.now() + datetime.timedelta(seconds=10)
        while b"ada" in sessions and datetime.datetime.now() < deadline:
            pass
        assert list(sessions) == [(b"bob", b"token")]
        assert db.key_space("sessions").name == "sessions"
        with pytest.raises(terrace.InvalidError, match="remembers"):
            db.key_space("sessions", ttl=hour)
        with pytest.raises(terrace.InvalidError, match="create"):
            db.key_space("sessions", create=False, ttl=hour)
        for wrong in ({"compression": "zip"}, {"block_size": 1 << 30}, {"filter_bits": 200}):
            with pytest.raises(terrace.InvalidError):
                db.key_space("other", **wrong)
    with terrace.open(tmp_path / "store") as db:
        db.key_space("sessions", ttl=0.001)


def test_others_look_at_a_store_that_is_live(tmp_path):
    with terrace.open(tmp_path / "quiet") as db:
        assert db.live_socket is None
    with terrace.open(tmp_path / "store", live=True) as db:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(os.fspath(db.live_socket))
            client.sendall((10).to_bytes(4, "little") + b"\0TERRLIVE\1\0")
            answer = b""
            while b"TERRLIVE" not in answer:
                part = client.recv(64)
                assert part, answer
                answer += part
            assert db.live_socket.parent == tmp_path / "store"


def test_conditional_writes(db):
    assert db.put_if(b"key", None, b"1")
    assert not db.put_if(b"key", None, b"2")
    assert not db.put_if(b"key", b"0", b"2") and db.get(b"key") == b"1"
    assert db.put_if(b"key", b"1", b"2") and db.get(b"key") == b"2"
    assert not db.delete_if(b"key", b"1") and db.delete_if(b"key", b"2")
    assert db.get(b"key") is None


def test_transactions(db):
    users = db.key_space("users")
    with db.transaction() as t:
        t.put(b"a", b"1")
        t.put(b"a", b"2", key_space=users)
        assert t.get(b"a") == b"1" and t.get(b"a", key_space=users) == b"2"
        assert db.get(b"a") is None
        assert t.scan() == [(b"a", b"1")]
    assert db.get(b"a") == b"1" and users.get(b"a") == b"2"
    t = db.transaction()
    t.get(b"a")
    t.put(b"b", b"lost")
    db.put(b"a", b"quicker")
    with pytest.raises(terrace.ConflictError) as conflict:
        t.commit()
    assert conflict.value.kind == "Conflict" and db.get(b"b") is None
    with pytest.raises(terrace.ClosedError):
        t.commit()
    with pytest.raises(ZeroDivisionError):
        with db.transaction() as t:
            t.delete(b"a")
            t.delete_range(prefix=b"")
            raise ZeroDivisionError
    assert db.get(b"a") == b"quicker"
    with db.transaction() as t:
        assert t.scan(reverse=True, limit=1) == [(b"a", b"quicker")]
        t.rollback()


def test_no_increment_is_lost_between_threads(db):
    def increment():
        for _ in range(100):
            terrace.transact(
                db, lambda t: t.put(b"count", b"%d" % (int(t.get(b"count", b"0")) + 1))
            )

    threads = [threading.Thread(target=increment) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db.get(b"count") == b"400"


def test_the_interpreter_is_free_while_threads_use_the_store(db):
    errors = []

    def work(name):
        try:
            for number in range(500):
                db.put(b"%d/%d" % (name, number), b"v" * 100)
                assert db.get(b"%d/%d" % (name, number)) == b"v" * 100
            assert sum(1 for _ in db.iterator(prefix=b"%d/" % name)) == 500
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_closed_store_says_so(tmp_path):
    db = terrace.open(tmp_path / "store")
    db.put(b"a", b"1")
    walk = iter(db)
    db.close()
    db.close()
    for call in (lambda: db.get(b"a"), lambda: db.put(b"a", b"2"), lambda: next(walk)):
        with pytest.raises(terrace.ClosedError):
            call()
    with terrace.open(tmp_path / "store", read_only=True) as db:
        assert db.get(b"a") == b"1"
        with pytest.raises(terrace.InvalidError):
            db.put(b"a", b"2")


def test_a_closed_snapshot_does_not_keep_its_store_open(tmp_path):
    snapshot = terrace.open(tmp_path / "store").snapshot()
    with pytest.raises(terrace.InUseError):
        terrace.open(tmp_path / "store")
    snapshot.close()
    terrace.open(tmp_path / "store").close()


def test_errors_name_the_place_and_the_kind(tmp_path):
    with pytest.raises(terrace.NotFoundError, match="nowhere"):
        terrace.open(tmp_path / "nowhere", create=False)
    with terrace.open(tmp_path / "store"):
        with pytest.raises(terrace.InUseError, match="store") as error:
            terrace.open(tmp_path / "store")
        assert error.value.kind == "InUse" and isinstance(error.value, terrace.Error)
        assert "open_reader" in str(error.value)
    (tmp_path / "file").write_bytes(b"no image" * 1000)
    with pytest.raises(terrace.Error, match="file"):
        terrace.open(tmp_path / "file")
    with pytest.raises(terrace.NotFoundError) as error:
        terrace.open(tmp_path / "nowhere", create=False)
    assert error.value.kind == "NotFound"
    with pytest.raises(terrace.InvalidError) as error:
        terrace.open(tmp_path / "other", durability="maybe")
    assert error.value.kind == "Invalid"
    for keywords, told in (
        ({"system": "tierd"}, "did you mean"),
        ({"durability": "maybe"}, "expected \"unlogged\""),
        ({"compression": "best"}, "compression"),
        ({"memory": 1}, "memory"),
    ):
        with pytest.raises(terrace.InvalidError, match=told):
            terrace.open(tmp_path / "other", **keywords)
        assert not (tmp_path / "other").exists()


def test_an_emulated_drive(tmp_path):
    image = tmp_path / "drive.img"
    terrace.create_image(image, 256 << 20, zone_size=1 << 20)
    with pytest.raises(terrace.Error):
        terrace.create_image(image, 256 << 20)
    for _ in range(2):
        with pytest.raises(terrace.InvalidError, match="zones of at least"):
            terrace.create_image(tmp_path / "small.img", 64 << 20, zone_size=4096)
    with pytest.raises(terrace.InvalidError, match="multiple"):
        terrace.create_image(tmp_path / "odd.img", (256 << 20) + 1)
    with pytest.raises(terrace.InvalidError, match="at most 4294967295 zones"):
        terrace.create_image(tmp_path / "vast.img", 1 << 62)
    with terrace.open(image, system="sliced", durability="synced") as db:
        fill(db)
        assert db.durability == "synced" and str(db.path) == str(image)
        db.flush()
        assert db.stats()["flushes"] == 1 and db.verify() > 0
        db.checkpoint(tmp_path / "copy")
        for _ in range(2):
            db.backup(tmp_path / "backup")
            db.put(b"new", b"value")
        with pytest.raises(terrace.Error, match="expected an empty store, or a backup"):
            db.backup(tmp_path / "copy")
        walk, snapshot = iter(db), db.snapshot()
        next(walk)
    with terrace.open(image) as again:  # though handles of the closed store are left
        assert len(list(again)) == 5
    with pytest.raises(terrace.ClosedError):
        snapshot.get(b"a")
    with terrace.open(tmp_path / "backup", create=False) as copy:
        assert len(list(copy)) == 5
    with terrace.open(tmp_path / "copy", create=False) as copy:
        assert len(list(copy)) == 4
        copy.compact_range()
        copy.sync()
        copy.wait_idle()
