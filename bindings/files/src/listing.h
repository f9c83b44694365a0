// Listing: the names that begin with a prefix, in order, with the facts of each file. It frees
// itself.

#pragma once

#include <string>

#include "outcome.h"

namespace terrace {

class Listing {
 public:
  Listing(const TerraceFs* fs, const std::string& prefix, Outcome* outcome) {
    *outcome = Outcome::of(terrace_fs_list(fs, slice_of(prefix), &listing_));
  }
  ~Listing() { terrace_listing_free(listing_); }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  size_t size() const { return terrace_listing_len(listing_); }

  // The name at a place, and information about its file unless `info` is null.
  std::string name(size_t index, TerraceFileInfo* info = nullptr) const {
    const TerraceSlice name = terrace_listing_at(listing_, index, info);
    return std::string(reinterpret_cast<const char*>(name.data), name.len);
  }

 private:
  TerraceListing* listing_ = nullptr;
};

}  // namespace terrace
