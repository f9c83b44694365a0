"""Reads next to a writer, which is another process."""

import subprocess
import sys

import pytest

import terrace

# Carries out the lines of its input, and answers each one.
WRITER = """
import sys, terrace
db = terrace.open(sys.argv[1], durability="written")
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


class Writer:
    def __init__(self, path):
        command = [sys.executable, "-c", WRITER, str(path)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def run(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@pytest.fixture(params=["directory", "image"])
def writer(request, tmp_path):
    path = tmp_path / "store"
    if request.param == "image":
        terrace.create_image(path, 64 << 20, zone_size=1 << 20)
    writer = Writer(path)
    writer.path = path
    writer.run("db.put(b'a', b'1')")
    yield writer
    writer.process.kill()
    writer.process.wait()
    writer.process.stdin.close()
    writer.process.stdout.close()


def test_a_reader_sees_the_writes_of_another_process(writer):
    with pytest.raises(terrace.InUseError):
        terrace.open(writer.path)
    with terrace.open_reader(writer.path, memory=16 << 20) as reader:
        assert reader.get(b"a") == b"1" and b"a" in reader and b"b" not in reader
        writer.run("db.put(b'b', b'2'); db.key_space('users').put(b'u', b'Ada')")
        assert reader.get(b"b", b"none") == b"none", "the state stays"
        assert reader.refresh() is True and reader.refresh() is False
        assert reader.multi_get([b"a", b"b", b"c"]) == [b"1", b"2", None]
        assert reader.get(b"u", key_space="users") == b"Ada"
        assert sorted(reader.key_spaces()) == ["default", "users"]
        assert reader.stats()["levels"] is not None
        with pytest.raises(terrace.NotFoundError):
            reader.get(b"u", key_space="gone")
    with pytest.raises(terrace.ClosedError):
        reader.get(b"a")


def test_walks_in_both_directions(writer):
    writer.run("[db.put(b'%04d' % n, b'v%d' % n) for n in range(2000)]; db.flush()")
    reader = terrace.open_reader(writer.path)
    expected = [(b"%04d" % n, b"v%d" % n) for n in range(2000)]
    assert list(reader.iterator(prefix=b"0")) == expected[:1000]
    assert list(reader)[:-1] == expected
    assert list(reader.iterator(start=b"0500", stop=b"0510", reverse=True)) == expected[509:499:-1]
    both = reader.iterator(start=b"0500", stop=b"0510", include_start=False, include_stop=True)
    assert list(both) == expected[501:511]
    begun = iter(reader)
    assert next(begun) == expected[0]
    reader.close()
    assert next(begun) == expected[1]


def test_a_walk_that_goes_on_meets_all_keys_while_the_writer_replaces_them(writer):
    writer.run("fill = lambda v: [db.put(b'%05d' % n, v * 500) for n in range(10000)]")
    writer.run("fill(b'x'); db.flush()")
    reader = terrace.open_reader(writer.path)
    strict, lenient = reader.iterator(prefix=b"0"), reader.iterator(prefix=b"0", going_on=True)
    first = [next(strict), next(lenient)]
    for letter in "yz":
        writer.run(f"fill(b'{letter}'); db.flush(); db.compact_range(); db.wait_idle()")
    rest = list(lenient)
    keys = [key for key, _ in [first[1]] + rest]
    assert keys == [b"%05d" % n for n in range(10000)]
    assert {value[:1] for _, value in rest} <= {b"x", b"y", b"z"}
    try:
        entries = [first[0], *strict]
    except terrace.MovedError as error:
        assert error.kind == "Moved"
    else:
        # In a directory, an open file keeps its bytes after its removal, unless they were trimmed.
        assert writer.path.is_dir()
        assert {value[:1] for _, value in entries} == {b"x"} and len(entries) == 10000


def test_a_reader_with_an_age_looks_for_changes_itself(writer):
    reader = terrace.open_reader(writer.path, max_age=0)
    writer.run("db.put(b'a', b'2')")
    assert reader.get(b"a") == b"2"
    writer.process.kill()
    writer.process.wait()
    assert reader.get(b"a") == b"2", "the writer's end changes nothing"


def test_errors_name_the_path(tmp_path):
    with pytest.raises(terrace.Error, match="nothing-here"):
        terrace.open_reader(tmp_path / "nothing-here")
    with pytest.raises(ValueError):
        terrace.open_reader(tmp_path, max_age=-1)
