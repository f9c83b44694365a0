// Calls of the methods of files, for `methods.cc`.

#include "methods.h"

using rocksdb::Env;
using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::Slice;

void add_writes(Methods& all) {
  all["FSWritableFile::Append"] = [](World& w) {
    auto file = w.writable("f");
    must(file->Append("te", w.io, nullptr), "append");
    must(file->Append("xt", w.io, rocksdb::DataVerificationInfo(), nullptr), "append");
    CHECK(w.read("f") == "text");
  };
  all["FSWritableFile::Truncate"] = [](World& w) {
    for (const char* name : {"a.sst", "a.blob", "a.log", "MANIFEST-1", "other"}) {
      const std::string text(100000, 'x');
      w.write(name, text);
      auto file = w.reopened(name);
      const uint64_t before = w.written();
      must(file->Truncate(50000, w.io, nullptr), "truncate");
      must(file->Fsync(w.io, nullptr), "sync");
      CHECK(file->GetFileSize(w.io, nullptr) == 50000 && w.read(name).size() == 50000);
      must(file->Truncate(50000, w.io, nullptr), "truncate to the same size");
      CHECK(!file->Truncate(50001, w.io, nullptr).ok());
      CHECK(w.written() - before < 50000);
      must(file->Append("y", w.io, nullptr), "append");
      file.reset();
      CHECK(w.read(name) == text.substr(0, 50000) + "y");
      file = w.writable(name);
      must(file->Append(text, w.io, nullptr), "append");
      must(file->Truncate(10, w.io, nullptr), "truncate of a file that is written");
      must(file->Truncate(0, w.io, nullptr), "truncate to nothing");
      must(file->Close(w.io, nullptr), "close");
      CHECK(!file->Truncate(0, w.io, nullptr).ok());
      CHECK(w.read(name).empty());
    }
  };
  all["FSWritableFile::Close"] = [](World& w) {
    auto file = w.writable("f");
    must(file->Close(w.io, nullptr), "close");
    must(file->Close(w.io, nullptr), "second close");
    CHECK(!file->Append("text", w.io, nullptr).ok());
  };
  all["FSWritableFile::Flush"] = [](World& w) {
    auto file = w.writable("f");
    must(file->Append("text", w.io, nullptr), "append");
    must(file->Flush(w.io, nullptr), "flush");
    CHECK(w.read("f") == "text");
  };
  const Method syncs = [](World& w) {
    auto file = w.writable("f.log");
    const uint64_t before = w.written();
    must(file->Append("text", w.io, nullptr), "append");
    must(file->Sync(w.io, nullptr), "sync");
    const uint64_t after = w.written();
    CHECK(after > before);
    must(file->Append("text", w.io, nullptr), "append");
    must(file->Fsync(w.io, nullptr), "sync");
    CHECK(w.written() > after);
  };
  all["FSWritableFile::Sync"] = all["FSWritableFile::Fsync"] = syncs;
  all["FSWritableFile::RangeSync"] = [](World& w) {
    for (const bool strict : {false, true}) {
      FileOptions options;
      options.strict_bytes_per_sync = strict;
      std::unique_ptr<FSWritableFile> file;
      must(w.fs->NewWritableFile(w.at("f.log"), options, &file, nullptr), "new file");
      must(file->Append("text", w.io, nullptr), "append");
      const uint64_t before = w.written();
      must(file->RangeSync(0, 4, w.io, nullptr), "range sync");
      CHECK(w.written() > before);
    }
  };
  all["FSWritableFile::SetWriteLifeTimeHint"] = all["FSWritableFile::GetWriteLifeTimeHint"] =
      [](World& w) {
        auto file = w.writable("f.sst");
        file->SetWriteLifeTimeHint(Env::WLTH_LONG);
        CHECK(file->GetWriteLifeTimeHint() == Env::WLTH_LONG);
        must(file->Append("text", w.io, nullptr), "append");
      };
  all["FSWritableFile::SetIOPriority"] = all["FSWritableFile::GetIOPriority"] = [](World& w) {
    auto file = w.writable("f.sst");
    file->SetIOPriority(Env::IO_HIGH);
    CHECK(file->GetIOPriority() == Env::IO_HIGH);
  };
  all["FSWritableFile::GetFileSize"] = [](World& w) {
    auto file = w.writable("f");
    must(file->Append("text", w.io, nullptr), "append");
    CHECK(file->GetFileSize(w.io, nullptr) == 4);
    must(file->Close(w.io, nullptr), "close");
    CHECK(file->GetFileSize(w.io, nullptr) == 4);
  };
}

void add_reads(Methods& all) {
  all["FSSequentialFile::Read"] = all["FSSequentialFile::Skip"] = [](World& w) {
    auto file = w.sequential("0123456789");
    Slice read;
    char scratch[16];
    must(file->Skip(3), "skip");
    must(file->Read(4, w.io, &read, scratch, nullptr), "read");
    CHECK(read == "3456");
    must(file->Skip(100), "skip beyond the end");
    must(file->Read(4, w.io, &read, scratch, nullptr), "read at the end");
    CHECK(read.empty());
  };
  all["FSRandomAccessFile::Read"] = [](World& w) {
    Slice read;
    char scratch[16];
    must(w.random("0123456789")->Read(8, 4, w.io, &read, scratch, nullptr), "read");
    CHECK(read == "89");
    CHECK(!w.random("0123")->Read(0, 4, w.io, &read, nullptr, nullptr).ok());
    auto mapped = w.random("0123456789", true);
    must(mapped->Read(2, 4, w.io, &read, nullptr, nullptr), "read without a buffer");
    CHECK(read == "2345");
    must(mapped->Read(8, 4, w.io, &read, scratch, nullptr), "read of a mapped file");
    CHECK(read == "89");
    must(mapped->Read(20, 4, w.io, &read, nullptr, nullptr), "read beyond the end");
    CHECK(read.empty());
  };
  all["FSRandomAccessFile::MultiRead"] = [](World& w) {
    char scratch[2][4];
    rocksdb::FSReadRequest reads[2];
    for (size_t at = 0; at < 2; at++) {
      reads[at].offset = 4 * at;
      reads[at].len = 4;
      reads[at].scratch = scratch[at];
    }
    must(w.random("0123456")->MultiRead(reads, 2, w.io, nullptr), "reads");
    CHECK(reads[0].status.ok() && reads[0].result == "0123");
    CHECK(reads[1].status.ok() && reads[1].result == "456");
  };
  const Method later = [](World& w) {
    auto file = w.random("0123456789");
    std::string found;
    char scratch[2][4];
    std::vector<void*> handles(2);
    rocksdb::IOHandleDeleter destroy[2];
    for (size_t at = 0; at < 2; at++) {
      rocksdb::FSReadRequest read;
      read.offset = 4 * at;
      read.len = 4;
      read.scratch = scratch[at];
      const auto callback = [](const rocksdb::FSReadRequest& done, void* into) {
        static_cast<std::string*>(into)->append(done.result.data(), done.result.size());
      };
      must(file->ReadAsync(read, w.io, callback, &found, &handles[at], &destroy[at], nullptr),
           "begin of a read");
    }
    std::vector<void*> aborted = {handles[0]}, polled = {handles[1]};
    must(w.fs->AbortIO(aborted), "abort");
    must(w.fs->Poll(polled, 1), "poll");
    CHECK(found == "4567");
    destroy[0](handles[0]);
    destroy[1](handles[1]);
  };
  all["FSRandomAccessFile::ReadAsync"] = all["FileSystem::Poll"] = all["FileSystem::AbortIO"] =
      later;
}
