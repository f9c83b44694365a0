// Random calls of the FileSystem, and the same calls of RocksDB's own FileSystem in a directory of
// the machine: both must succeed or fail alike, and leave the same files.
//
// Documented differences of the plug-in are left out: calls for a file that has a writer already or
// that is removed while it is written, appends after a cut by the same writer (RocksDB leaves them
// undefined), files that are made longer, missing directories, and a new file that replaces one
// with further names.

#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "contract.h"

using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSWritableFile;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

// A file that is being written, in both.
struct Writers {
  std::unique_ptr<FSWritableFile> file[2];
  std::string name;
  bool appended_to = false;
  bool cut = false;
};

// A file that is being read, in both.
struct Readers {
  std::unique_ptr<FSRandomAccessFile> file[2];
  // It belongs to the file it was opened for, even if another file has the name now.
  std::string text;
};

class Pair {
 public:
  Pair(const std::string& uri, const std::string& directory, uint64_t seed)
      : fs_{file_system(uri), FileSystem::Default()},
        root_{"/differs", directory}, random_(seed) {
    for (int side = 0; side < 2; side++) {
      must(fs_[side]->CreateDirIfMissing(root_[side], io_, nullptr), "directory");
      for (const char* name : {"/0", "/1"}) {
        must(fs_[side]->CreateDirIfMissing(root_[side] + name, io_, nullptr), "directory");
      }
    }
  }

  void step();
  // Ends all writers, and compares all files.
  void compare();

 private:
  size_t below(size_t end) { return random_() % end; }

  // One of few names, so that calls concern the same files.
  std::string name() {
    static const char* const kNames[] = {"1.sst",      "2.sst",  "3.log",
                                         "MANIFEST-4", "5.blob", "CURRENT"};
    return "/" + std::to_string(below(2)) + "/" + kNames[below(6)];
  }

  std::string at(int side, const std::string& name) const { return root_[side] + name; }

  // The same call on both sides; returns whether it succeeded, which must be the same.
  template <typename Call>
  bool both(const std::string& what, Call call) {
    const IOStatus one = call(0), other = call(1);
    log_.push_back(what + (one.ok() ? "" : " fails"));
    if (one.ok() != other.ok()) {
      fail(what + ": " + one.ToString() + ", expected " + other.ToString());
    }
    return one.ok();
  }

  [[noreturn]] void fail(const std::string& message) {
    for (size_t at = log_.size() - std::min<size_t>(log_.size(), 40); at < log_.size(); at++) {
      std::fprintf(stderr, "%s\n", log_[at].c_str());
    }
    std::fprintf(stderr, "%s\n", message.c_str());
    std::fflush(nullptr);
    std::_Exit(1);
  }

  // Whether a file of this name is being written.
  bool is_written(const std::string& name) {
    for (const Writers& writers : writers_) {
      bool same = false;
      if (writers.name == name ||
          (fs_[1]->AreFilesSame(at(1, writers.name), at(1, name), io_, &same, nullptr).ok() &&
           same)) {
        return true;
      }
    }
    return false;
  }

  uint64_t links(const std::string& name) {
    uint64_t count = 0;
    fs_[1]->NumFileLinks(at(1, name), io_, &count, nullptr);
    return count;
  }

  std::string read(int side, const std::string& name) {
    std::string text;
    must(rocksdb::ReadFileToString(fs_[side].get(), at(side, name), &text), name.c_str());
    return text;
  }

  void make(const std::string& name);
  void reopen(const std::string& name);
  void write();
  void read_some();
  void change_names(size_t which);

  std::shared_ptr<FileSystem> fs_[2];
  const std::string root_[2];
  std::mt19937_64 random_;
  const IOOptions io_;
  std::vector<Writers> writers_;
  std::vector<Readers> readers_;
  std::vector<std::string> log_;
};

void Pair::make(const std::string& name) {
  if (is_written(name) || links(name) > 1) {
    return;
  }
  Writers made;
  made.name = name;
  // If a file is created again, a machine's reader of the old one finds it empty.
  readers_.clear();
  if (both("new " + name, [&](int side) {
        return fs_[side]->NewWritableFile(at(side, name), FileOptions(), &made.file[side], nullptr);
      })) {
    writers_.push_back(std::move(made));
  }
}

void Pair::reopen(const std::string& name) {
  if (is_written(name)) {
    return;
  }
  Writers made;
  made.name = name;
  made.appended_to = true;
  readers_.clear();
  if (both("reopen " + name, [&](int side) {
        return fs_[side]->ReopenWritableFile(at(side, name), FileOptions(), &made.file[side],
                                             nullptr);
      })) {
    writers_.push_back(std::move(made));
  }
}

void Pair::write() {
  if (writers_.empty()) {
    return;
  }
  const size_t which = below(writers_.size());
  Writers& to = writers_[which];
  const size_t what = below(8);
  if (what < 4 && (to.appended_to || !to.cut)) {
    const size_t length = below(4) == 0 ? below(300000) : below(5000);
    std::string text(length, '\0');
    std::generate(text.begin(), text.end(), [&] { return static_cast<char>('a' + below(26)); });
    both("append " + std::to_string(length) + " to " + to.name,
         [&](int side) { return to.file[side]->Append(text, io_, nullptr); });
  } else if (what == 4) {
    both("sync " + to.name, [&](int side) {
      IOStatus status = to.file[side]->Flush(io_, nullptr);
      return status.ok() ? to.file[side]->Sync(io_, nullptr) : status;
    });
  } else if (what == 5) {
    for (int side = 0; side < 2; side++) {
      must(to.file[side]->Flush(io_, nullptr), "flush");
    }
    uint64_t size = 0;
    must(fs_[1]->GetFileSize(at(1, to.name), io_, &size, nullptr), "size");
    const uint64_t then = below(4) == 0 ? size : below(size + 1);
    both("cut " + to.name + " from " + std::to_string(size) + " to " + std::to_string(then),
         [&](int side) { return to.file[side]->Truncate(then, io_, nullptr); });
    to.cut = true;
  } else {
    both("close " + to.name, [&](int side) { return to.file[side]->Close(io_, nullptr); });
    writers_.erase(writers_.begin() + static_cast<std::ptrdiff_t>(which));
  }
}

void Pair::read_some() {
  const std::string from = name();
  if (readers_.size() < 4 && !is_written(from)) {
    Readers opened;
    if (both("open " + from, [&](int side) {
          return fs_[side]->NewRandomAccessFile(at(side, from), FileOptions(), &opened.file[side],
                                                nullptr);
        })) {
      opened.text = read(1, from);
      readers_.push_back(std::move(opened));
    }
  }
  for (const Readers& readers : readers_) {
    const uint64_t offset = below(readers.text.size() + 10);
    std::vector<char> scratch[2] = {std::vector<char>(1000), std::vector<char>(1000)};
    Slice found[2];
    both("read", [&](int side) {
      return readers.file[side]->Read(offset, 1000, io_, &found[side], scratch[side].data(),
                                      nullptr);
    });
    if (found[0] != found[1]) {
      fail("expected the bytes of the file that was opened, found others");
    }
  }
}

void Pair::change_names(size_t which) {
  const std::string from = name(), to = name();
  if (which == 0 && !is_written(from)) {
    both("delete " + from,
         [&](int side) { return fs_[side]->DeleteFile(at(side, from), io_, nullptr); });
  } else if (which == 1 && !is_written(to)) {
    const bool moved = both("rename " + from + " to " + to, [&](int side) {
      return fs_[side]->RenameFile(at(side, from), at(side, to), io_, nullptr);
    });
    for (Writers& writers : writers_) {
      const bool gone = !fs_[1]->FileExists(at(1, writers.name), io_, nullptr).ok();
      writers.name = moved && writers.name == from && gone ? to : writers.name;
    }
  } else if (which == 2) {
    both("link " + from + " as " + to, [&](int side) {
      return fs_[side]->LinkFile(at(side, from), at(side, to), io_, nullptr);
    });
  } else if (which == 3 && !is_written(from)) {
    uint64_t size = 0;
    fs_[1]->GetFileSize(at(1, from), io_, &size, nullptr);
    const uint64_t then = below(size + 1);
    readers_.clear();
    // RocksDB's own file system has no such call.
    both("truncate " + from + " to " + std::to_string(then), [&](int side) {
      if (side == 0) {
        return fs_[0]->Truncate(at(0, from), then, io_, nullptr);
      }
      const bool done = ::truncate(at(1, from).c_str(), static_cast<off_t>(then)) == 0;
      return done ? IOStatus::OK() : IOStatus::IOError("truncate");
    });
  } else if (which == 4) {
    const std::string directory = "/" + std::to_string(below(3));
    if (below(2) == 0) {
      both("directory " + directory,
           [&](int side) { return fs_[side]->CreateDir(at(side, directory), io_, nullptr); });
    }
    if (directory == "/2") {
      both("delete of " + directory,
           [&](int side) { return fs_[side]->DeleteDir(at(side, directory), io_, nullptr); });
    }
    bool is[2] = {};
    both("is " + directory, [&](int side) {
      return fs_[side]->IsDirectory(at(side, directory), io_, &is[side], nullptr);
    });
    CHECK(is[0] == is[1]);
  }
}

void Pair::step() {
  const size_t what = below(20);
  if (what < 3) {
    make(name());
  } else if (what < 5) {
    reopen(name());
  } else if (what < 12) {
    write();
  } else if (what < 14) {
    read_some();
  } else if (what < 19) {
    change_names(what - 14);
  } else {
    compare();
  }
}

void Pair::compare() {
  for (const Writers& writers : writers_) {
    both("close " + writers.name,
         [&](int side) { return writers.file[side]->Close(io_, nullptr); });
  }
  writers_.clear();
  for (const std::string directory : {"", "/0", "/1"}) {
    std::map<std::string, uint64_t> found[2];
    for (int side = 0; side < 2; side++) {
      std::vector<std::string> children;
      must(fs_[side]->GetChildren(at(side, directory), io_, &children, nullptr), "children");
      for (const std::string& child : children) {
        uint64_t size = 0;
        if (!directory.empty()) {
          must(fs_[side]->GetFileSize(at(side, directory + "/" + child), io_, &size, nullptr),
               "size");
        }
        found[side][child] = size;
      }
    }
    if (found[0] != found[1]) {
      for (int side = 0; side < 2; side++) {
        for (const auto& [child, size] : found[side]) {
          log_.push_back((side == 0 ? "found " : "expected ") + directory + "/" + child + " with " +
                         std::to_string(size));
        }
      }
      fail("expected the same files, found others");
    }
    for (const auto& [child, size] : found[1]) {
      const std::string path = directory + "/" + child;
      if (!directory.empty() && read(0, path) != read(1, path)) {
        fail(path + ": expected the same bytes, found others");
      }
      uint64_t links[2] = {};
      for (int side = 0; side < 2 && !directory.empty(); side++) {
        must(fs_[side]->NumFileLinks(at(side, path), io_, &links[side], nullptr), "links");
      }
      CHECK(links[0] == links[1]);
    }
  }
}

}  // namespace

void differs(const std::string& uri, uint64_t seed, const std::string& directory) {
  Pair pair(uri, directory, seed);
  for (int number = 0; number < 3000; number++) {
    pair.step();
  }
  pair.compare();
}
