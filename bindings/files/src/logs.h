// Logs that an engine has still to flush.
//
// The file system knows them: they are the files of the shortest lifetime that are no tables. Each
// counts once, with any number of names. A log is created with that lifetime. It loses it, durably,
//
//   when its first bytes come and the engine has not said that it is one: it is a copy, as in a
//   checkpoint or a backup (RocksDB says it; LevelDB makes no copies)
//   when it is moved by itself: into an archive, or to be deleted. The move of a directory moves a
//   database, whose logs count as before
//   when an engine takes its name away and a link is left, as in a checkpoint. The engine is known
//   by a further log in the directory that is being written
//
// Logs of a database that is closed, or was killed, count: its opening takes space for them.

#pragma once

#include <cstdint>
#include <string>

#include "outcome.h"

namespace terrace {

// The shortest lifetime that a file can be given. The next longer ones follow; 0 is unknown.
constexpr uint32_t kShortestLifetime = 1;

// Bytes of all these logs; 0 if they are not known.
uint64_t bytes_in_logs(const TerraceFs* fs);

// Whether a file is such a log.
bool is_live_log(const TerraceFileInfo& info);

// Removes the lifetime of a log, if this is one.
Outcome end_log(const TerraceFs* fs, const std::string& name, const TerraceFileInfo& info);

// The same for a file that is about to lose this name, if it keeps another one and the engine no
// longer needs it.
Outcome end_log_with(const TerraceFs* fs, const std::string& name);

}  // namespace terrace
