"""Functions of Python that say which values compactions keep."""

import subprocess
import sys
import threading

import pytest

import terrace


def keeps(key, value):
    return value != b"old"


def fill(space, count=100):
    for number in range(count):
        space.put(b"%04d" % number, b"old" if number % 2 else b"new")


def test_a_compaction_asks_a_function_of_the_default_key_space(tmp_path):
    asked = []

    def keep(key, value):
        asked.append((key, value))
        return keeps(key, value)

    with terrace.open(tmp_path / "store", compaction_filter=keep) as db:
        other = db.key_space("other")
        fill(db)
        fill(other)
        assert len(list(db)) == 100
        db.compact_range()
        other.compact_range()
        assert [value for _, value in db] == [b"new"] * 50
        assert len(list(other)) == 100
        assert db.stats()["values_filtered"] == 50
    assert (b"0001", b"old") in asked and (b"0002", b"new") in asked


def test_key_spaces_have_filters_of_their_own(tmp_path):
    filters = {"a": keeps, "b": lambda key, value: key < b"0010"}
    with terrace.open(tmp_path / "store", compaction_filter=filters) as db:
        for name, left in (("a", 50), ("b", 10), ("default", 100)):
            space = db if name == "default" else db.key_space(name)
            fill(space)
            space.compact_range()
            assert len(list(space)) == left, name


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(lambda key: 1 // 0, ZeroDivisionError), (lambda key: None, TypeError)],
)
def test_a_mistake_keeps_the_value_and_is_reported(tmp_path, monkeypatch, answer, expected):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reported.append(args.exc_type))

    def keep(key, value):
        return answer(key) if key == b"0001" else keeps(key, value)

    with terrace.open(tmp_path / "store", compaction_filter=keep) as db:
        fill(db)
        db.compact_range()
        assert db.get(b"0001") == b"old" and db.get(b"0003") is None
        assert reported and set(reported) == {expected}


def test_what_is_no_function_is_refused(tmp_path):
    for wrong in (5, {"default": "text"}, {"default": None}):
        with pytest.raises(terrace.InvalidError, match="expected a function"):
            terrace.open(tmp_path / "store", compaction_filter=wrong)


def load(db, count=20_000):
    for number in range(count):
        db.put(b"%08d" % (number * 7919 % count), b"old" if number % 2 else b"new" * 20)


def options():
    return {"memtable_size": 64 << 10, "compaction_filter": keeps}


ENDS = """
import sys, terrace
for closes in (True, False):
    for round in range(5):
        place = f"{sys.argv[1]} {closes} {round}"
        keep = lambda key, value: value != b"old"
        db = terrace.open(place, memtable_size=64 << 10, compaction_filter=keep)
        for number in range(5_000):
            db.put(b"%08d" % (number * 7919 % 5_000), b"old" if number % 2 else b"new" * 20)
        if closes:
            db.close()
        # Compactions are running, and ask while the last handle goes.
        del db
"""


def test_a_close_and_a_drop_wait_for_calls_in_other_threads(tmp_path):
    # In a process of its own: a wait without end fails.
    program = [sys.executable, "-c", ENDS, str(tmp_path / "store")]
    assert subprocess.run(program, timeout=120).returncode == 0


def test_several_threads_write_while_compactions_ask(tmp_path):
    with terrace.open(tmp_path / "store", **options()) as db:
        threads = [threading.Thread(target=load, args=(db, 5_000)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        db.wait_idle()
        db.compact_range()
        assert all(value != b"old" for _, value in db)


PROGRAM = """
import sys, terrace
calls = 0
def keep(key, value):
    global calls
    calls += 1
    return True
db = terrace.open(sys.argv[1], memtable_size=64 << 10, compaction_filter=keep)
for number in range(10_000):
    db.put(b"%08d" % (number * 7919 % 10_000), b"value" * 20)
assert calls, "no compaction has asked"
print("end", flush=True)
"""


def test_an_interpreter_ends_while_compactions_ask(tmp_path):
    for round in range(5):
        place = str(tmp_path / f"store {round}")
        program = [sys.executable, "-c", PROGRAM, place]
        ended = subprocess.run(program, timeout=60, capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == (0, "end\n"), ended.stderr
        with terrace.open(place) as db:
            assert len(list(db)) == 10_000
