// The models of one device: files, of which each is of one operator.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/candidate_model.h"
#include "attune/model/model_file.h"
#include "attune/problem/problem.h"

namespace attune {

// Where models are.
struct ModelLocation {
  std::string database;  // Models of its records are beside it; empty for none.
  // Files to use instead, of any operators; none of them: no model. Without a value those of the
  // database.
  std::optional<std::vector<std::string>> files;

  friend bool operator==(const ModelLocation&, const ModelLocation&) = default;
};

// A place where a model may be.
struct ModelFile {
  std::filesystem::path path;
  std::string operator_name;  // Empty: whatever the file says.
  bool is_named = false;      // By somebody, so that it is wrong if there is none.
};
std::vector<ModelFile> ModelFilesAt(const ModelLocation& location, const ModelOrigin& origin);

// The paths in a list that is separated by colons; an empty one is none.
std::vector<std::string> PathsIn(std::string_view list);

// Fails as CandidateModel::Open() does.
Result<CandidateModel> OpenModel(const ModelFile& file, const ModelOrigin& origin);

// What was read once.
class CandidateModels {
 public:
  CandidateModels() = default;
  explicit CandidateModels(std::vector<CandidateModel> models) : models_(std::move(models)) {}
  // What is refused is left out. They ask `launches`, which may be null.
  CandidateModels(const ModelLocation& location, const ModelOrigin& origin,
                  const std::shared_ptr<const LaunchSource>& launches);

  bool empty() const { return models_.empty(); }
  // Null if nothing is known of its operator.
  const CandidateModel* For(const Problem& problem) const;
  // Why files that are there, or that somebody has named, are not used.
  const std::vector<Status>& refusals() const { return refusals_; }

 private:
  std::vector<CandidateModel> models_;
  std::vector<Status> refusals_;
};

}  // namespace attune
