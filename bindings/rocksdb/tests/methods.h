// Calls of the methods of a FileSystem and of its files, by their names, for `methods.cc`.

#pragma once

#include <functional>
#include <map>

#include "contract.h"
#include "rocksdb/convenience.h"

// The file system, in which each method has its own directory.
struct World {
  std::shared_ptr<rocksdb::FileSystem> fs;
  std::string place;
  const rocksdb::IOOptions io;
  const rocksdb::FileOptions options;

  std::string at(const std::string& name) const { return place + "/" + name; }

  std::string write(const std::string& name, const std::string& text) const {
    put(fs.get(), at(name), text);
    return at(name);
  }

  std::string read(const std::string& name) const {
    std::string text;
    must(rocksdb::ReadFileToString(fs.get(), at(name), &text), name.c_str());
    return text;
  }

  uint64_t written() const {
    std::string bytes;
    must(fs->GetOption(rocksdb::ConfigOptions(), "written_bytes", &bytes), "count");
    return std::strtoull(bytes.c_str(), nullptr, 10);
  }

  std::unique_ptr<rocksdb::FSWritableFile> writable(const std::string& name) const {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    must(fs->NewWritableFile(at(name), options, &file, nullptr), "new file");
    return file;
  }

  std::unique_ptr<rocksdb::FSWritableFile> reopened(const std::string& name) const {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    must(fs->ReopenWritableFile(at(name), options, &file, nullptr), "reopen");
    return file;
  }

  std::unique_ptr<rocksdb::FSSequentialFile> sequential(const std::string& text) const {
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    must(fs->NewSequentialFile(write("file", text), options, &file, nullptr), "open");
    return file;
  }

  std::unique_ptr<rocksdb::FSRandomAccessFile> random(const std::string& text,
                                                      bool mapped = false) const {
    rocksdb::FileOptions how;
    how.use_mmap_reads = mapped;
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    must(fs->NewRandomAccessFile(write("file", text), how, &file, nullptr), "open");
    return file;
  }
};

using Method = std::function<void(World&)>;
using Methods = std::map<std::string, Method>;

// Methods without an effect here, or that only return a fact.
void add_facts(Methods& all);
// Methods that are not supported.
void add_refusals(Methods& all);
// Methods of files that are written, and of files that are read.
void add_writes(Methods& all);
void add_reads(Methods& all);
