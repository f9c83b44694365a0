// RocksDB's info log on an ordinary path.
//
// RocksDB creates it through the database's file system, at any path. So a directory of the machine
// is used through a logger that is made with the ordinary Env. With only `db_log_dir`, the
// directory is one on the drive.

#include "contract.h"

void logs(const std::string& uri, const std::string& directory) {
  auto fs = file_system(uri);
  const auto env = rocksdb::NewCompositeEnv(fs);
  auto options = options_of(env.get());
  options.db_log_dir = "/logs";
  auto db = open(options, "/beside");
  must(db->Close(), "close");
  std::vector<std::string> children;
  must(fs->GetChildren("/logs", rocksdb::IOOptions(), &children, nullptr), "children");
  CHECK(children == std::vector<std::string>({"beside_LOG"}));
  CHECK(fs->FileExists("/beside/LOG", rocksdb::IOOptions(), nullptr).IsNotFound());

  rocksdb::Env* const ordinary = rocksdb::Env::Default();
  must(ordinary->NewLogger(directory + "/LOG", &options.info_log), "logger");
  options.info_log->SetInfoLogLevel(rocksdb::InfoLogLevel::INFO_LEVEL);
  options.db_log_dir = "";
  db = open(options, "/ordinary");
  must(db->Put(rocksdb::WriteOptions(), "key", "value"), "put");
  must(db->Close(), "close");
  options.info_log->Flush();
  uint64_t size = 0;
  must(ordinary->GetFileSize(directory + "/LOG", &size), "the log on the ordinary path");
  CHECK(size > 1000);
  CHECK(fs->FileExists("/ordinary/LOG", rocksdb::IOOptions(), nullptr).IsNotFound());
}
