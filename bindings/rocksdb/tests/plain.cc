// Tables that RocksDB reads as memory, for plain tables: the file system has no memory-mapped
// files, and loads each into memory.

#include "contract.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"

void plain(const std::string& uri) {
  const auto env = rocksdb::NewCompositeEnv(file_system(uri));
  auto options = options_of(env.get());
  options.allow_mmap_reads = true;
  for (const bool is_plain : {true, false}) {
    const std::string path = is_plain ? "/plain" : "/mapped";
    if (is_plain) {
      options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
      options.table_factory.reset(rocksdb::NewPlainTableFactory());
    } else {
      options.table_factory.reset(rocksdb::NewBlockBasedTableFactory());
    }
    auto db = open(options, path);
    for (int round = 0; round < 2; round++) {
      for (int number = 0; number < 3000; number++) {
        must(db->Put(rocksdb::WriteOptions(), key_of(number), value_of(number)), "put");
      }
      must(db->Flush(rocksdb::FlushOptions()), "flush");
      must(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "compact");
      db.reset();
      db = open(options, path);
      for (int number = 0; number < 3000; number++) {
        std::string value;
        must(db->Get(rocksdb::ReadOptions(), key_of(number), &value), "get");
        CHECK(value == value_of(number));
      }
    }
    must(db->Close(), "close");
  }
}
