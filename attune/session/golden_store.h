// Keeps golden versions. Nothing in them is ever overwritten.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/golden.h"

namespace attune {

// Thread-safe. Writes are durable when a method returns Ok.
class GoldenStore {
 public:
  virtual ~GoldenStore() = default;

  // A draft with all of its base. kInvalidArgument for an invalid name; kFailedPrecondition if the
  // name is taken, if there is a version that was not rolled back and no base is named, or if the
  // base is a draft or was rolled back; kNotFound if there is no such base.
  virtual Result<GoldenVersion> Create(std::string_view name, std::string_view base,
                                       std::string_view created_by) = 0;
  // In order of their making.
  virtual Result<std::vector<GoldenVersion>> List() = 0;
  // kNotFound names those that there are.
  virtual Result<GoldenVersion> Find(std::string_view name) = 0;

  // All or nothing. `seen` is the highest id of an entry of this version that the decision rests
  // on, 0 for none. kFailedPrecondition if the version is approved; kUnavailable if entries were
  // added since, which may be better.
  virtual Status Add(int64_t version_id, std::span<const GoldenEntry> entries, int64_t seen) = 0;
  // Closes the version to additions; approving again changes nothing. kFailedPrecondition if it has
  // no entries, or if it or a version that it begins from was rolled back.
  virtual Status Approve(int64_t version_id, std::string_view approved_by) = 0;
  // Withdraws the version: neither it nor any that begins from it is used any more.
  // kFailedPrecondition if it was withdrawn.
  virtual Status Withdraw(int64_t version_id, std::string_view withdrawn_by,
                          std::string_view because) = 0;

  // The entries of the version: for each question its own last entry, else that of its base. In
  // order of their ids.
  virtual Result<std::vector<GoldenEntry>> Entries(int64_t version_id) = 0;
};

}  // namespace attune
