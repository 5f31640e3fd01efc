#include "attune/index/candidate_models.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/index/model_origin.h"
#include "attune/model/shape_features.h"
#include "attune/ops/registry.h"

namespace attune {
namespace {

Result<std::string_view> OperatorOf(const std::filesystem::path& path) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFileAtOnce(path, CandidateModel::kMostBytes));
  const auto header = ReadModelHeader(text);
  const auto found =
      header.ok() ? OperatorOfFeatures(header->features) : Result<std::string_view>(header.error());
  if (!found.ok()) return found.error().WithContext(fmt::format("'{}'", path.string()));
  return found;
}

}  // namespace

std::vector<std::string> PathsIn(std::string_view list) {
  std::vector<std::string> paths;
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    if (end > 0) paths.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return paths;
}

std::vector<ModelFile> ModelFilesAt(const ModelLocation& location, const ModelOrigin& origin) {
  std::vector<ModelFile> files;
  if (location.files.has_value()) {
    for (const std::string& path : *location.files) files.push_back({path, "", true});
  } else if (!location.database.empty()) {
    for (const Operator* op : Operators()) {
      const std::string name(op->name());
      files.push_back({ModelPathOf(location.database, origin, name), name, false});
    }
  }
  return files;
}

Result<CandidateModel> OpenModel(const ModelFile& file, const ModelOrigin& origin) {
  if (!file.operator_name.empty()) {
    return CandidateModel::Open(file.path, origin, file.operator_name);
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string_view name, OperatorOf(file.path));
  return CandidateModel::Open(file.path, origin, name);
}

CandidateModels::CandidateModels(const ModelLocation& location, const ModelOrigin& origin,
                                 const std::shared_ptr<const LaunchSource>& launches) {
  for (const ModelFile& file : ModelFilesAt(location, origin)) {
    auto model = OpenModel(file, origin);
    if (model.ok()) {
      models_.push_back(*std::move(model));
      models_.back().AskForLaunches(launches);
    } else if (file.is_named || model.error().code() != StatusCode::kNotFound) {
      refusals_.push_back(model.error());
    }
  }
}

const CandidateModel* CandidateModels::For(const Problem& problem) const {
  const auto found = std::ranges::find(
      models_, problem.op().name(),
      [](const CandidateModel& model) -> std::string_view { return model.operator_name(); });
  return found == models_.end() ? nullptr : &*found;
}

}  // namespace attune
