// Space efficiency of RocksDB on an emulated drive with zones:
//
//   space [--scale=N] [--full=PERCENT] [--overwrites=N] [--value_size=BYTES] [--dynamic=0|1]
//         [--seed=N] URI
//
// The options that shape RocksDB's tree have their defaults, divided by the scale: tables and
// memtables of 64 MB, a first level of 256 MB. At scale 1 the drive should have zones of 256 MB.
// Compression is off.
//
// 1. Loads all keys in random order. Their number is such that the newest versions of their entries
//    take this share of the space for files.
// 2. Overwrites random keys, N times the number of keys. For each time the number of keys, 64
//    samples are taken.
// 3. Prints averages and extremes of the samples.
//
// A zone is in use if it holds bytes of files, or dead bytes together with such. The file system
// reports the uses of the bytes of these zones (`terrace_fs_parts`). Space efficiency is the bytes
// of files divided by those of zones in use, whole zones. Zones of superblock and journal do not
// count, nor do zones without live bytes that were not reset yet. The fill of the drive is the
// bytes of files divided by the space for files, which is all zones except those of superblock and
// journal.
//
// RocksDB's info log, which does not shrink with the scale, is kept short: it has only errors.
//
// A write that is refused for lack of space is counted, the database is opened again, and the write
// repeated; the run ends at the 20th.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

namespace {

using rocksdb::DB;
using rocksdb::Status;

constexpr int kSamples = 64;
constexpr int kRefusalsMax = 20;
constexpr size_t kKey = 16;

struct Arguments {
  uint64_t scale = 16;
  uint64_t full = 80;
  uint64_t overwrites = 2;
  uint64_t value_size = 1000;
  uint64_t dynamic = 0;
  uint64_t seed = 1;
  std::string uri;
};

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

void must(const Status& status, const std::string& what) {
  if (!status.ok()) {
    die(what + ": " + status.ToString());
  }
}

Arguments parse(int count, char** words) {
  Arguments found;
  const std::pair<const char*, uint64_t*> known[] = {
      {"--scale=", &found.scale},           {"--full=", &found.full},
      {"--overwrites=", &found.overwrites}, {"--value_size=", &found.value_size},
      {"--dynamic=", &found.dynamic},       {"--seed=", &found.seed},
  };
  for (int index = 1; index < count; index++) {
    const std::string word = words[index];
    const auto* option = std::find_if(std::begin(known), std::end(known), [&](const auto& one) {
      return word.rfind(one.first, 0) == 0;
    });
    if (option != std::end(known)) {
      *option->second = std::strtoull(word.c_str() + std::strlen(option->first), nullptr, 10);
    } else if (word.rfind("--", 0) == 0) {
      die(word + ": expected --scale, --full, --overwrites, --value_size, --dynamic or --seed");
    } else {
      found.uri = word;
    }
  }
  if (found.uri.rfind("terrace://", 0) != 0 || found.scale == 0 || found.full > 100 ||
      found.overwrites == 0) {
    die("usage: space [OPTION...] terrace://IMAGE");
  }
  return found;
}

// The zone table of an image; docs/format/image.md.
class Image {
 public:
  explicit Image(const std::string& uri) {
    const std::string path = uri.substr(10, uri.find('?') - 10);
    file_ = open(path.c_str(), O_RDONLY);
    unsigned char header[4096];
    if (file_ < 0 || pread(file_, header, sizeof header, 0) != sizeof header) {
      die(path + ": expected an image");
    }
    std::memcpy(&block_, header + 32, sizeof block_);
    std::memcpy(&zone_, header + 48, sizeof zone_);
    std::memcpy(&zones_, header + 64, sizeof zones_);
    zone_ *= block_;
  }

  uint64_t capacity() const { return zone_ * zones_; }

  uint64_t zone() const { return zone_; }

  uint64_t zones() const { return zones_; }

  // Bytes in each zone, from its start to its write pointer.
  std::vector<uint64_t> written() const {
    std::vector<unsigned char> table(16 * size_t{zones_});
    if (pread(file_, table.data(), table.size(), 4096) != static_cast<ssize_t>(table.size())) {
      die("expected a zone table");
    }
    std::vector<uint64_t> written(zones_);
    for (size_t zone = 0; zone < zones_; zone++) {
      std::memcpy(&written[zone], &table[16 * zone + 8], sizeof written[zone]);
      written[zone] *= block_;
    }
    return written;
  }

  // Zones with any bytes, dead or not.
  uint64_t written_zones() const {
    const std::vector<uint64_t> all = written();
    return all.size() - static_cast<uint64_t>(std::count(all.begin(), all.end(), uint64_t{0}));
  }

  // Bytes in all zones.
  uint64_t held() const {
    const std::vector<uint64_t> all = written();
    return std::accumulate(all.begin(), all.end(), uint64_t{0});
  }

 private:
  int file_ = -1;
  uint64_t zone_ = 0;
  uint32_t block_ = 0, zones_ = 0;
};

// Results of all samples of one figure.
struct Figure {
  const char* name;
  std::vector<double> values = {};

  void print() const {
    if (values.empty()) {
      std::printf("%-48s %8s %8s %8s\n", name, "-", "-", "-");
      return;
    }
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    std::printf("%-48s %8.1f %8.1f %8.1f\n", name, sum / static_cast<double>(values.size()),
                *least, *most);
  }
};

class Run {
 public:
  explicit Run(const Arguments& arguments)
      : arguments_(arguments), image_(arguments.uri), random_(arguments.seed) {
    rocksdb::ConfigOptions config;
    config.ignore_unsupported_options = false;
    must(rocksdb::FileSystem::CreateFromString(config, arguments.uri, &fs_), arguments.uri);
    env_ = rocksdb::NewCompositeEnv(fs_);
    capacity_ = count("capacity");
    held_ = image_.held();
    keys_ = capacity_ / 100 * arguments.full / (kKey + arguments.value_size);
    if (keys_ < kSamples) {
      die("--full=" + std::to_string(arguments.full) + ": expected at least " +
          std::to_string(kSamples) + " entries, found room for " + std::to_string(keys_));
    }
    pool_.resize((1 << 20) + arguments.value_size);
    std::generate(pool_.begin(), pool_.end(), [&] { return static_cast<char>(random_()); });
    options_.env = env_.get();
    options_.create_if_missing = true;
    options_.compression = rocksdb::kNoCompression;
    options_.info_log_level = rocksdb::FATAL_LEVEL;
    options_.write_buffer_size /= arguments.scale;
    options_.target_file_size_base /= arguments.scale;
    options_.max_bytes_for_level_base /= arguments.scale;
    options_.level_compaction_dynamic_level_bytes = arguments.dynamic != 0;
    open();
  }

  void load() {
    std::vector<uint32_t> keys(keys_);
    std::iota(keys.begin(), keys.end(), 0);
    std::shuffle(keys.begin(), keys.end(), random_);
    for (const uint32_t key : keys) {
      put(key);
    }
    loaded_ = count("reclaim_bytes");
    vain_ = count("reclaim_vain_bytes");
    written_ = count("written_bytes");
    std::printf("loaded: files %.1f %% of what they can occupy, newest versions %llu %%, moved "
                "%.1f MB of %.1f MB written, %d refusals\n",
                percent(count("live"), capacity_),
                static_cast<unsigned long long>(arguments_.full), loaded_ / 1e6, written_ / 1e6,
                refusals_);
    std::fflush(stdout);
  }

  void overwrite() {
    const uint64_t writes = keys_ * arguments_.overwrites, step = keys_ / kSamples;
    for (uint64_t write = 1; write <= writes; write++) {
      put(static_cast<uint32_t>(random_() % keys_));
      if (write % step == 0) {
        sample();
      }
    }
  }

  void report() {
    const uint64_t moved = count("reclaim_bytes") - loaded_;
    const uint64_t vain = count("reclaim_vain_bytes") - vain_;
    const uint64_t written = count("written_bytes") - written_;
    const double given = static_cast<double>(keys_ * arguments_.overwrites) *
                         static_cast<double>(kKey + arguments_.value_size);
    std::printf("%-48s %8s %8s %8s\n", "percent", "average", "least", "most");
    for (const Figure& figure : figures_) {
      figure.print();
    }
    std::printf("given by the program: %.1f MB; written to the drive: %.1f MB, %.2f times that; "
                "moved by reclaim: %.1f MB, %.2f %% of it; moved in vain: %.1f MB\n",
                given / 1e6, written / 1e6, static_cast<double>(written) / given, moved / 1e6,
                percent(moved, written), vain / 1e6);
    // Bytes that were written and are in no zone any more were erased.
    const uint64_t resets = count("zones_reset");
    const uint64_t erased = held_ + count("written_bytes") - image_.held();
    std::printf("from the mount on, zones reset: %llu, %.1f %% full on average; finished early: %llu; writes refused: "
                "%d\n",
                static_cast<unsigned long long>(resets),
                percent(erased, std::max(resets, uint64_t{1}) * image_.zone()),
                static_cast<unsigned long long>(count("zones_finished")), refusals_);
  }

 private:
  static double percent(uint64_t part, uint64_t of) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(of);
  }

  uint64_t count(const std::string& name) {
    std::string value;
    must(fs_->GetOption(rocksdb::ConfigOptions(), name, &value), name);
    return std::strtoull(value.c_str(), nullptr, 10);
  }

  void open() {
    DB* db = nullptr;
    must(DB::Open(options_, "/space", &db), "open");
    db_.reset(db);
  }

  void put(uint32_t key) {
    char name[kKey + 1];
    std::snprintf(name, sizeof name, "%016u", key);
    const rocksdb::Slice value(&pool_[random_() % (1 << 20)], arguments_.value_size);
    for (;;) {
      const Status status = db_->Put(rocksdb::WriteOptions(), name, value);
      if (status.ok()) {
        return;
      }
      if (!status.IsNoSpace()) {
        must(status, "put");
      }
      describe();
      if (++refusals_ == kRefusalsMax) {
        report();
        die("refused too often");
      }
      db_.reset();
      open();
    }
  }

  // Bytes of zones in use, whole zones.
  uint64_t in_use() {
    uint64_t bytes = 0;
    for (const std::string part : {"full", "writing", "resting", "emptying"}) {
      bytes += count(part + "_live") + count(part + "_dead") + count(part + "_room");
    }
    return bytes;
  }

  // Prints the use of the space when a write was refused.
  void describe() {
    uint64_t tables = 0, live = 0;
    db_->GetIntProperty("rocksdb.total-sst-files-size", &tables);
    db_->GetIntProperty("rocksdb.live-sst-files-size", &live);
    std::printf("refused: files %.1f %%, RocksDB's tables %.1f %% and of its newest version %.1f "
                "%%, dead %.1f %%, room %.1f %%, free zones %.1f %%, available %.1f %%\n",
                percent(count("live"), capacity_), percent(tables, capacity_),
                percent(live, capacity_), percent(count("dead"), capacity_),
                percent(count("free") - count("free_room"), capacity_),
                percent(count("free_room"), capacity_), percent(count("available"), capacity_));
    std::fflush(stdout);
  }

  void sample() {
    const uint64_t live = count("live"), all = in_use();
    uint64_t tables = 0;
    db_->GetIntProperty("rocksdb.live-sst-files-size", &tables);
    const uint64_t newest = keys_ * (kKey + arguments_.value_size);
    const uint64_t empty = count("free_zones");
    const uint64_t clean = image_.zones() - std::min(image_.zones(), image_.written_zones());
    const double values[] = {
        percent(live, all),
        percent(newest, all),
        percent(live, capacity_),
        percent(all, capacity_),
        percent(tables, newest),
        percent(count("full_live"), all),
        percent(count("full_dead"), all),
        percent(count("writing_live"), all),
        percent(count("writing_dead"), all),
        percent(count("writing_room"), all),
        percent(count("resting_live"), all),
        percent(count("resting_dead"), all),
        percent(count("resting_room"), all),
        percent(count("emptying_live"), all),
        percent(count("emptying_dead") + count("emptying_room"), all),
        static_cast<double>(count("writing_zones")),
        static_cast<double>(count("resting_zones")),
        static_cast<double>(empty),
        static_cast<double>(empty - std::min(empty, clean)),
    };
    for (size_t index = 0; index < figures_.size(); index++) {
      figures_[index].values.push_back(values[index]);
    }
  }

  const Arguments arguments_;
  const Image image_;
  std::mt19937_64 random_;
  std::shared_ptr<rocksdb::FileSystem> fs_;
  std::unique_ptr<rocksdb::Env> env_;
  rocksdb::Options options_;
  std::unique_ptr<DB> db_;
  std::string pool_;
  uint64_t capacity_ = 0, keys_ = 0;
  // Bytes in all zones when the file system was mounted.
  uint64_t held_ = 0;
  // Counts after the load.
  uint64_t loaded_ = 0, vain_ = 0, written_ = 0;
  int refusals_ = 0;
  std::vector<Figure> figures_ = {{"bytes of files / zones in use"},
                                  {"newest versions / zones in use"},
                                  {"bytes of files / what files can occupy"},
                                  {"zones in use / what files can occupy"},
                                  {"tables of RocksDB / newest versions"},
                                  {"of zones in use: full zones, files"},
                                  {"of zones in use: full zones, dead"},
                                  {"of zones in use: being written, files"},
                                  {"of zones in use: being written, dead"},
                                  {"of zones in use: being written, room"},
                                  {"of zones in use: resting with room, files"},
                                  {"of zones in use: resting with room, dead"},
                                  {"of zones in use: resting with room, room"},
                                  {"of zones in use: being emptied, files"},
                                  {"of zones in use: being emptied, other"},
                                  {"number of zones that are being written"},
                                  {"number of zones that rest with room"},
                                  {"number of free zones"},
                                  {"number of those that were not reset yet"}};
};

}  // namespace

int main(int count, char** words) {
  Run run(parse(count, words));
  run.load();
  run.overwrite();
  run.report();
  return 0;
}
