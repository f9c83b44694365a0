// A benchmark of LevelDB on one place or on several in turn:
//
//   bench [--benchmarks=NAME,...] [--num=N] [--value_size=BYTES] [--cache_size=BYTES] [--rounds=N]
//         [--seed=N] PLACE...
//
// A place is a URI of Terrace, `terrace://IMAGE`, or an existing ordinary directory; the database
// in it is created again. In each round, each place does all benchmarks, one place after the other.
// Names and loads are those of LevelDB's db_bench: fillseq, fillrandom and fillsync begin with an
// empty database, and fillsync does a hundredth of the operations. An operation of readseq is an
// entry that it finds. Each read is compared with the writes.
//
// A result is the median of the rounds: microseconds of time and of processor time (of all threads,
// user and system) for each operation, and operations per second. The ratio is the processor time
// divided by that of the last place. The time of a compaction that goes on counts for the benchmark
// during which it runs.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "terrace/leveldb_env.h"

namespace {

struct Options {
  std::vector<std::string> benchmarks = {"fillseq",     "readseq",    "fillsync",
                                         "fillrandom",  "overwrite",  "readrandom",
                                         "readmissing", "deleterandom", "compact"};
  int num = 100000;
  size_t value_size = 100;
  size_t cache_size = 8 << 20;
  int rounds = 1;
  unsigned seed = 1;
  std::vector<std::string> places;
};

// Result of one benchmark.
struct Result {
  double micros = 0;
  double processor = 0;
};

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

void must(const leveldb::Status& status, const std::string& what) {
  if (!status.ok()) {
    die(what + ": " + status.ToString());
  }
}

std::string key_of(int number) {
  char text[24];
  std::snprintf(text, sizeof text, "%016d", number);
  return text;
}

// Consecutive values of a key. Half of a value repeats, so that it can be compressed.
class Values {
 public:
  Values(size_t size, unsigned seed) : size_(size) {
    std::mt19937 random(seed);
    while (pool_.size() < size + kPool) {
      std::string half(kPiece / 2, '\0');
      std::generate(half.begin(), half.end(), [&] { return static_cast<char>(random()); });
      pool_ += half + half;
    }
  }

  leveldb::Slice of(int number, unsigned version) const {
    return leveldb::Slice(&pool_[(number * size_t{7919} + version * size_t{104729}) % kPool],
                          size_);
  }

 private:
  static constexpr size_t kPool = 1 << 20, kPiece = 128;
  const size_t size_;
  std::string pool_;
};

double processor_micros() {
  rusage use = {};
  getrusage(RUSAGE_SELF, &use);
  const auto micros = [](const timeval& time) { return time.tv_sec * 1e6 + time.tv_usec; };
  return micros(use.ru_utime) + micros(use.ru_stime);
}

// The database in one place, and its expected contents.
class Place {
 public:
  Place(const Options& options, const std::string& place, unsigned round)
      : options_(options), values_(options.value_size, options.seed),
        random_(options.seed + round) {
    if (place.rfind("terrace://", 0) == 0) {
      must(terrace::new_leveldb_env(place, &env_), place);
      owned_.reset(env_);
      path_ = "/bench";
    } else {
      env_ = leveldb::Env::Default();
      path_ = place + "/bench";
    }
    cache_.reset(leveldb::NewLRUCache(options.cache_size));
    begin();
  }

  ~Place() { end(); }

  // Runs one benchmark; returns its result for each operation.
  Result run(const std::string& name) {
    if (name.rfind("fill", 0) == 0) {
      begin();
    }
    int operations = name == "fillsync" ? std::max(options_.num / 100, 1)
                     : name == "compact" ? 1
                                         : options_.num;
    const double processor = processor_micros();
    const auto start = std::chrono::steady_clock::now();
    if (name == "fillseq" || name == "fillsync") {
      for (int number = 0; number < operations; number++) {
        put(number, name == "fillsync");
      }
    } else if (name == "fillrandom" || name == "overwrite") {
      for (int number = 0; number < operations; number++) {
        put(any(), false);
      }
    } else if (name == "deleterandom") {
      for (int number = 0; number < operations; number++) {
        remove(any());
      }
    } else if (name == "readrandom") {
      for (int number = 0; number < operations; number++) {
        get(any());
      }
    } else if (name == "readmissing") {
      for (int number = 0; number < operations; number++) {
        get(options_.num + any());
      }
    } else if (name == "readseq") {
      operations = std::max(scan(), 1);
    } else if (name == "compact") {
      db_->CompactRange(nullptr, nullptr);
    } else {
      die(name + ": expected fillseq, fillsync, fillrandom, overwrite, deleterandom, readrandom, "
                 "readmissing, readseq or compact");
    }
    const std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - start;
    return {took.count() / operations, (processor_micros() - processor) / operations};
  }

 private:
  // Makes an empty database.
  void begin() {
    end();
    leveldb::Options options;
    options.env = env_;
    options.block_cache = cache_.get();
    options.create_if_missing = true;
    must(leveldb::DestroyDB(path_, options), path_);
    must(leveldb::DB::Open(options, path_, &db_), path_);
    versions_.assign(options_.num, 0);
  }

  void end() {
    delete db_;
    db_ = nullptr;
  }

  int any() { return static_cast<int>(random_() % static_cast<unsigned>(options_.num)); }

  void put(int number, bool sync) {
    leveldb::WriteOptions options;
    options.sync = sync;
    versions_[number] = ++version_;
    must(db_->Put(options, key_of(number), values_.of(number, version_)), "put");
  }

  void remove(int number) {
    versions_[number] = 0;
    must(db_->Delete(leveldb::WriteOptions(), key_of(number)), "delete");
  }

  // The last version of a key; 0 if it does not exist.
  unsigned version(int number) const {
    return number < options_.num ? versions_[number] : 0;
  }

  void check(int number, const leveldb::Slice& value) const {
    if (value != values_.of(number, version(number))) {
      die("key " + key_of(number) + ": expected what was written last, found another value");
    }
  }

  void get(int number) {
    const leveldb::Status status = db_->Get(leveldb::ReadOptions(), key_of(number), &value_);
    if (version(number) == 0) {
      if (!status.IsNotFound()) {
        die("key " + key_of(number) + ": expected none, found " + status.ToString());
      }
      return;
    }
    must(status, "get");
    check(number, value_);
  }

  // Reads all entries, and returns their number.
  int scan() {
    const std::unique_ptr<leveldb::Iterator> entries(db_->NewIterator(leveldb::ReadOptions()));
    int found = 0;
    for (entries->SeekToFirst(); entries->Valid(); entries->Next(), found++) {
      const int number = std::atoi(entries->key().ToString().c_str());
      if (version(number) == 0) {
        die("key " + key_of(number) + ": expected none, found one");
      }
      check(number, entries->value());
    }
    must(entries->status(), "scan");
    const auto expected = versions_.size() - std::count(versions_.begin(), versions_.end(), 0u);
    if (static_cast<size_t>(found) != expected) {
      die("scan: expected " + std::to_string(expected) + " entries, found " +
          std::to_string(found));
    }
    return found;
  }

  const Options& options_;
  const Values values_;
  std::mt19937 random_;
  leveldb::Env* env_ = nullptr;
  std::unique_ptr<leveldb::Env> owned_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::string path_;
  leveldb::DB* db_ = nullptr;
  unsigned version_ = 0;
  // By number.
  std::vector<unsigned> versions_;
  std::string value_;
};

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

Options parse(int count, char** arguments) {
  Options options;
  for (int index = 1; index < count; index++) {
    const std::string word = arguments[index];
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto number = [&] {
      char* end = nullptr;
      const unsigned long long parsed = std::strtoull(value.c_str(), &end, 10);
      if (value.empty() || *end != '\0' || parsed == 0 || parsed > 1000000000) {
        die(word + ": expected a number from 1 to 1000000000");
      }
      return parsed;
    };
    if (word.rfind("--", 0) != 0) {
      options.places.push_back(word);
    } else if (name == "--benchmarks") {
      options.benchmarks.clear();
      std::istringstream names(value);
      for (std::string next; std::getline(names, next, ',');) {
        options.benchmarks.push_back(next);
      }
    } else if (name == "--num") {
      options.num = static_cast<int>(number());
    } else if (name == "--value_size") {
      options.value_size = number();
    } else if (name == "--cache_size") {
      options.cache_size = number();
    } else if (name == "--rounds") {
      options.rounds = static_cast<int>(number());
    } else if (name == "--seed") {
      options.seed = static_cast<unsigned>(number());
    } else {
      die(word + ": expected --benchmarks, --num, --value_size, --cache_size, --rounds or --seed");
    }
  }
  if (options.places.empty()) {
    die("usage: bench [OPTION...] PLACE..., where a place is terrace://IMAGE or a directory");
  }
  return options;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  const size_t benchmarks = options.benchmarks.size(), places = options.places.size();
  // By benchmark, and place.
  std::vector<std::vector<double>> micros(benchmarks * places), processor(benchmarks * places);
  for (int round = 0; round < options.rounds; round++) {
    for (size_t place = 0; place < places; place++) {
      Place in(options, options.places[place], static_cast<unsigned>(round));
      for (size_t benchmark = 0; benchmark < benchmarks; benchmark++) {
        const Result result = in.run(options.benchmarks[benchmark]);
        micros[benchmark * places + place].push_back(result.micros);
        processor[benchmark * places + place].push_back(result.processor);
      }
    }
  }
  std::printf("%d entries of 16 + %zu bytes, cache of %zu bytes, %d rounds, seed %u\n",
              options.num, options.value_size, options.cache_size, options.rounds, options.seed);
  std::printf("%-14s %12s %14s %12s %7s  %s\n", "benchmark", "micros/op", "cpu micros/op",
              "ops/sec", "ratio", "place");
  for (size_t index = 0; index < benchmarks * places; index++) {
    const size_t benchmark = index / places, place = index % places;
    const double time = median(micros[index]), own = median(processor[index]);
    const double last = median(processor[benchmark * places + places - 1]);
    std::printf("%-14s %12.3f %14.3f %12.0f ", options.benchmarks[benchmark].c_str(), time, own,
                1e6 / time);
    std::printf("%7.2f  %s\n", own / last, options.places[place].c_str());
  }
  return 0;
}
