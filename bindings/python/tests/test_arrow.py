"""Entries as Arrow streams, written and read by pyarrow."""

import random

import pyarrow as pa
import pytest

import terrace

ENTRIES = 10_000


@pytest.fixture()
def db(tmp_path):
    with terrace.open(tmp_path / "store", memtable_size=256 << 10) as db:
        yield db


def entries(seed=1):
    drawn = random.Random(seed)
    numbers = list(range(ENTRIES))
    drawn.shuffle(numbers)
    return [(b"%06d" % number, drawn.randbytes(drawn.randrange(100))) for number in numbers]


def table(rows, kind=pa.binary()):
    keys, values = zip(*rows)
    return pa.table({"key": pa.array(keys, kind), "value": pa.array(values, kind)})


def test_a_table_is_put_and_scanned(db):
    rows = entries()
    assert db.put_arrow(table(rows)) == ENTRIES
    db.put(b"last", b"")
    scanned = pa.table(db.scan_arrow())
    assert scanned.schema.names == ["key", "value"]
    assert [str(field.type) for field in scanned.schema] == ["binary", "binary"]
    expected = sorted(rows) + [(b"last", b"")]
    assert list(zip(*(column.to_pylist() for column in scanned.columns))) == expected
    assert list(db) == expected
    # Back into another key space: a stream of the store is a source as well.
    copy = db.key_space("copy")
    assert copy.put_arrow(db.scan_arrow(batch=100), sync=True) == ENTRIES + 1
    assert list(copy) == expected


def test_ranges_and_batches(db):
    db.put_arrow(table(entries()))

    def keys(**keywords):
        return pa.table(db.scan_arrow(**keywords))["key"].to_pylist()

    assert keys(start=b"000010", stop=b"000013") == [b"000010", b"000011", b"000012"]
    assert keys(prefix=b"00999") == [b"00999%d" % last for last in range(10)]
    assert keys(prefix=b"00999", reverse=True) == [b"00999%d" % last for last in range(9, -1, -1)]
    assert keys(start=b"x") == []
    reader = pa.RecordBatchReader.from_stream(db.scan_arrow(batch=3000))
    assert [batch.num_rows for batch in reader] == [3000, 3000, 3000, 1000]
    with pytest.raises(terrace.InvalidError, match="batch"):
        db.scan_arrow(batch=0)


def test_a_scan_sees_the_moment_of_its_call_and_is_consumed_once(db):
    db.put(b"a", b"1")
    scan = db.scan_arrow()
    db.put(b"b", b"2")
    assert pa.schema(scan).names == ["key", "value"]
    assert pa.table(scan).num_rows == 1
    with pytest.raises(terrace.ClosedError, match="consumed"):
        pa.table(scan)


def test_a_stream_outlives_its_store_and_says_so(tmp_path):
    db = terrace.open(tmp_path / "store")
    db.put_arrow(table(entries()))
    reader = pa.RecordBatchReader.from_stream(db.scan_arrow(batch=10))
    assert reader.read_next_batch().num_rows == 10
    db.close()
    with pytest.raises(OSError, match="closed"):
        reader.read_next_batch()
    del reader, db


KINDS = (
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.binary(4),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_columns_of_every_kind_of_bytes(db, kind):
    rows = [(b"%04d" % number, b"v%03d" % number) for number in range(300)]
    is_text = "string" in str(kind)
    given = [(key.decode(), value.decode()) for key, value in rows] if is_text else rows
    made = table(given, kind)
    assert {str(field.type) for field in made.schema} == {str(kind)}
    # A slice has an offset, and each part of a table is an array.
    assert db.put_arrow(pa.concat_tables([made.slice(100), made.slice(0, 100)])) == 300
    assert list(db) == rows


def test_other_names_and_sources_that_are_refused(db):
    other = pa.table({"n": [1, 2], "id": [b"a", b"b"], "name": ["x", "y"]})
    assert db.put_arrow(other, key="id", value="name") == 2
    assert list(db) == [(b"a", b"x"), (b"b", b"y")]
    with pytest.raises(terrace.InvalidError, match="column \"key\", found"):
        db.put_arrow(other)
    with pytest.raises(terrace.InvalidError, match="expected binary or text, found Int64"):
        db.put_arrow(other, key="n", value="name")
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        db.put_arrow([(b"a", b"b")])
    nulls = pa.table({"key": [b"a", None], "value": [b"1", b"2"]})
    with pytest.raises(terrace.InvalidError, match="no nulls, found 1"):
        db.put_arrow(nulls)


def test_a_source_that_fails_tells_how_many_rows_are_stored(db):
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])

    def batches():
        for start in (0, 100):
            rows = [(b"%03d" % number, b"v") for number in range(start, start + 100)]
            yield from table(rows).to_batches()
        raise ValueError("the source has ended early")

    with pytest.raises(terrace.Error, match="ended early") as error:
        db.put_arrow(pa.RecordBatchReader.from_batches(schema, batches()))
    assert error.value.stored == 200 and len(list(db)) == 200
