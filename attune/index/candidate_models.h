// The models of one device: files for one operator each.
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

// Paths of models.
struct ModelLocation {
  std::string database;  // Models of its records are beside it; empty for none.
  // Files to use instead, of any operators; an empty list: no model. Without a value, those of the
  // database.
  std::optional<std::vector<std::string>> files;

  friend bool operator==(const ModelLocation&, const ModelLocation&) = default;
};

// A possible path of a model.
struct ModelFile {
  std::filesystem::path path;
  std::string operator_name;  // Empty: taken from the file.
  bool is_named = false;      // Named by the user, so that a missing file is an error.
};
std::vector<ModelFile> ModelFilesAt(const ModelLocation& location, const ModelOrigin& origin);

// The paths in a list separated by colons; empty ones are skipped.
std::vector<std::string> PathsIn(std::string_view list);

// Fails as CandidateModel::Open() does.
Result<CandidateModel> OpenModel(const ModelFile& file, const ModelOrigin& origin);

// Models that were read once.
class CandidateModels {
 public:
  CandidateModels() = default;
  explicit CandidateModels(std::vector<CandidateModel> models) : models_(std::move(models)) {}
  // Leaves out refused models. They use `launches`, which may be null.
  CandidateModels(const ModelLocation& location, const ModelOrigin& origin,
                  const std::shared_ptr<const LaunchSource>& launches);

  bool empty() const { return models_.empty(); }
  // Null if there is no model of its operator.
  const CandidateModel* For(const Problem& problem) const;
  // Why existing files, or files that the user named, are not used.
  const std::vector<Status>& refusals() const { return refusals_; }

 private:
  std::vector<CandidateModel> models_;
  std::vector<Status> refusals_;
};

}  // namespace attune
