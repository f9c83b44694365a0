// Calls of methods that only return facts, and of those that are not supported, for `methods.cc`.

#include "methods.h"

using rocksdb::FileOptions;
using rocksdb::FSRandomAccessFile;
using rocksdb::Slice;

void add_facts(Methods& all) {
  all["FileSystem::RegisterDbPaths"] = [](World& w) {
    must(w.fs->RegisterDbPaths({w.place}), "there is nothing to be registered");
  };
  all["FileSystem::UnregisterDbPaths"] = [](World& w) {
    must(w.fs->UnregisterDbPaths({w.place}), "there is nothing to be registered");
  };
  all["FileSystem::SanitizeFileOptions"] = [](World& w) {
    FileOptions options;
    w.fs->SanitizeFileOptions(&options);
  };
  all["FileSystem::OptimizeForLogRead"] = [](World& w) { w.fs->OptimizeForLogRead(w.options); };
  all["FileSystem::OptimizeForManifestRead"] = [](World& w) {
    w.fs->OptimizeForManifestRead(w.options);
  };
  all["FileSystem::OptimizeForLogWrite"] = [](World& w) {
    w.fs->OptimizeForLogWrite(w.options, rocksdb::DBOptions());
  };
  all["FileSystem::OptimizeForManifestWrite"] = [](World& w) {
    w.fs->OptimizeForManifestWrite(w.options);
  };
  // Their further argument is RocksDB's own; every flush and compaction of the contract calls them.
  for (const char* name : {"OptimizeForCompactionTableWrite", "OptimizeForCompactionTableRead",
                           "OptimizeForBlobFileRead"}) {
    all[std::string("FileSystem::") + name] = [](World&) {};
  }
  all["FSSequentialFile::use_direct_io"] = [](World& w) {
    CHECK(!w.sequential("text")->use_direct_io());
  };
  all["FSSequentialFile::GetRequiredBufferAlignment"] = [](World& w) {
    CHECK(w.sequential("text")->GetRequiredBufferAlignment() > 0);
  };
  all["FSSequentialFile::GetTemperature"] = [](World& w) {
    CHECK(w.sequential("text")->GetTemperature() == rocksdb::Temperature::kUnknown);
  };
  all["FSRandomAccessFile::use_direct_io"] = [](World& w) {
    CHECK(!w.random("text")->use_direct_io());
  };
  all["FSRandomAccessFile::GetRequiredBufferAlignment"] = [](World& w) {
    CHECK(w.random("text")->GetRequiredBufferAlignment() > 0);
  };
  all["FSRandomAccessFile::GetTemperature"] = [](World& w) {
    CHECK(w.random("text")->GetTemperature() == rocksdb::Temperature::kUnknown);
  };
  all["FSRandomAccessFile::Hint"] = [](World& w) {
    w.random("text")->Hint(FSRandomAccessFile::kSequential);
  };
  all["FSRandomAccessFile::GetUniqueId"] = [](World& w) {
    char id[64];
    CHECK(w.random("text")->GetUniqueId(id, sizeof id) == 0);  // There is none.
  };
  all["FSWritableFile::use_direct_io"] = [](World& w) { CHECK(!w.writable("f")->use_direct_io()); };
  all["FSWritableFile::GetRequiredBufferAlignment"] = [](World& w) {
    CHECK(w.writable("f")->GetRequiredBufferAlignment() > 0);
  };
  all["FSWritableFile::IsSyncThreadSafe"] = [](World& w) {
    CHECK(!w.writable("f")->IsSyncThreadSafe());
  };
  all["FSWritableFile::GetUniqueId"] = [](World& w) {
    char id[64];
    CHECK(w.writable("f")->GetUniqueId(id, sizeof id) == 0);
  };
  all["FSDirectory::GetUniqueId"] = [](World& w) {
    std::unique_ptr<rocksdb::FSDirectory> directory;
    must(w.fs->NewDirectory(w.place, w.io, &directory, nullptr), "directory");
    char id[64];
    CHECK(directory->GetUniqueId(id, sizeof id) == 0);
  };
}

void add_refusals(Methods& all) {
  const Method no_random_writes = [](World& w) {
    std::unique_ptr<rocksdb::FSRandomRWFile> file;
    const std::string path = w.write("file", "text");
    CHECK(w.fs->NewRandomRWFile(path, w.options, &file, nullptr).IsNotSupported());
    CHECK(file == nullptr);
  };
  for (const char* name : {"use_direct_io", "GetRequiredBufferAlignment", "Write", "Read", "Flush",
                           "Sync", "Fsync", "Close", "GetTemperature"}) {
    all[std::string("FSRandomRWFile::") + name] = no_random_writes;
  }
  all["FileSystem::NewRandomRWFile"] = no_random_writes;
  all["FileSystem::NewMemoryMappedFileBuffer"] = [](World& w) {
    std::unique_ptr<rocksdb::MemoryMappedFileBuffer> buffer;
    CHECK(w.fs->NewMemoryMappedFileBuffer(w.write("file", "text"), &buffer).IsNotSupported());
  };
  all["FSSequentialFile::InvalidateCache"] = [](World& w) {
    CHECK(w.sequential("text")->InvalidateCache(0, 0).IsNotSupported());
  };
  all["FSSequentialFile::PositionedRead"] = [](World& w) {
    Slice read;
    char scratch[8];
    CHECK(w.sequential("text")->PositionedRead(0, 4, w.io, &read, scratch, nullptr)
              .IsNotSupported());
  };
  all["FSRandomAccessFile::Prefetch"] = [](World& w) {
    CHECK(w.random("text")->Prefetch(0, 4, w.io, nullptr).IsNotSupported());
  };
  all["FSRandomAccessFile::InvalidateCache"] = [](World& w) {
    CHECK(w.random("text")->InvalidateCache(0, 0).IsNotSupported());
  };
  all["FSWritableFile::InvalidateCache"] = [](World& w) {
    CHECK(w.writable("f")->InvalidateCache(0, 0).IsNotSupported());
  };
  all["FSWritableFile::PositionedAppend"] = [](World& w) {
    auto file = w.writable("f");
    CHECK(file->PositionedAppend("text", 0, w.io, nullptr).IsNotSupported());
    CHECK(file->PositionedAppend("text", 0, w.io, rocksdb::DataVerificationInfo(), nullptr)
              .IsNotSupported());
  };
  const Method no_allocation = [](World& w) {
    auto file = w.writable("f");
    CHECK(file->Allocate(0, 1 << 20, w.io, nullptr).IsNotSupported());
    file->SetPreallocationBlockSize(1 << 20);
    file->PrepareWrite(0, 4, w.io, nullptr);
    size_t block = 0, last = 0;
    file->GetPreallocationStatus(&block, &last);
    CHECK(block == 1 << 20);
    must(file->Append("text", w.io, nullptr), "append");
    must(file->Close(w.io, nullptr), "close");
    CHECK(w.read("f") == "text");
  };
  for (const char* name :
       {"Allocate", "SetPreallocationBlockSize", "PrepareWrite", "GetPreallocationStatus"}) {
    all[std::string("FSWritableFile::") + name] = no_allocation;
  }
}
