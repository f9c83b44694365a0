"""Processor time of puts, gets and scans, compared with `plyvel` and `rocksdict`, in one run.

    pip install plyvel rocksdict ./bindings/python
    python bindings/python/bench/peers.py [ENTRIES] [ROUNDS]

Each round runs all stores, in an order that rotates. Printed are the least time of the rounds, since
other programs on the machine only add to it, and the ratio of the best other store to Terrace: above
1 Terrace takes less processor time.
"""

import random
import shutil
import sys
import tempfile
import time

import plyvel
import rocksdict
import terrace

ENTRIES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3


def keys(seed):
    drawn = list(range(ENTRIES))
    random.Random(seed).shuffle(drawn)
    return [b"%016d" % number for number in drawn]


def open_terrace(path):
    return terrace.open(path, durability="written", compression="none")


def open_plyvel(path):
    return plyvel.DB(path, create_if_missing=True, compression=None, write_buffer_size=64 << 20,
                     lru_cache_size=256 << 20, bloom_filter_bits=10)


def open_rocksdict(path):
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(64 << 20)
    options.set_compression_type(rocksdict.DBCompressionType.none())
    table = rocksdict.BlockBasedOptions()
    table.set_block_cache(rocksdict.Cache(256 << 20))
    table.set_bloom_filter(10, False)
    options.set_block_based_table_factory(table)
    return rocksdict.Rdict(path, options)


def scan_rocksdict(db):
    return sum(1 for _ in db.items())


def scan(db):
    return sum(1 for _ in db)


STORES = {
    "terrace": (open_terrace, scan),
    "plyvel": (open_plyvel, scan),
    "rocksdict": (open_rocksdict, scan_rocksdict),
}


def measure(name, value):
    opened, scanned = STORES[name]
    path = tempfile.mkdtemp()
    spent = {}
    try:
        db = opened(path + "/store")
        puts, gets = keys(1), keys(2)

        def timed(what, call):
            start = time.process_time()
            call()
            spent[what] = (time.process_time() - start) / ENTRIES * 1e6

        def put():
            for key in puts:
                db.put(key, value)

        def get():
            for key in gets:
                assert db.get(key) is not None

        def walk():
            assert scanned(db) == ENTRIES

        timed("put", put)
        timed("get", get)
        timed("scan", walk)
        db.close()
        return spent
    finally:
        shutil.rmtree(path)


def main():
    value = random.Random(3).randbytes(100)
    rounds = {name: [] for name in STORES}
    names = list(STORES)
    for number in range(ROUNDS):
        for name in names[number % 3:] + names[:number % 3]:
            rounds[name].append(measure(name, value))
    print(f"{ENTRIES} entries of 16 + 100 bytes, {ROUNDS} rounds, microseconds of processor time")
    for what in ("put", "get", "scan"):
        of = {name: min(spent[what] for spent in rounds[name]) for name in names}
        best = min(of[name] for name in names if name != "terrace")
        figures = "  ".join(f"{name} {of[name]:.2f}" for name in names)
        print(f"{what:5} {figures}  best other / terrace {best / of['terrace']:.2f}")


if __name__ == "__main__":
    main()
