#include "attune/kernel/kernel_file_mutation.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/kernel/shipped_files_test.h"

namespace attune::kernel {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kMutantFile = "mutant.json";

// Every place of a document.
void CollectPlaces(const Json& json, const Json::json_pointer& here,
                   std::vector<Json::json_pointer>& places) {
  if (!here.empty()) places.push_back(here);
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) CollectPlaces(value, here / key, places);
  } else if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i) CollectPlaces(json[i], here / i, places);
  }
}

std::string CorruptedText(std::string text, Random& random) {
  const size_t place = random.Below(text.size() + 1);
  switch (random.Below(4)) {
    case 0:
      return text.erase(std::min(place, text.size() - 1), 1);
    case 1:
      return text.insert(place, 1, "+*/()<>=!&|?:%'x9 .-"[random.Below(20)]);
    case 2:
      text[std::min(place, text.size() - 1)] = static_cast<char>(' ' + random.Below(95));
      return text;
    default:
      return text.substr(0, place);
  }
}

void Erase(Json& parent, const std::string& key) {
  if (parent.is_object()) {
    parent.erase(key);
  } else {
    parent.erase(std::stoul(key));
  }
}

void Double(Json& parent, const std::string& key, const Json& field) {
  if (parent.is_object()) {
    parent[key + "x"] = field;
  } else {
    parent.push_back(field);
  }
}

void CorruptValue(Json& field, Random& random) {
  if (field.is_string()) {
    field = CorruptedText(field.get<std::string>(), random);
  } else if (field.is_number_integer()) {
    field =
        static_cast<int64_t>(random.Next() >> random.Below(64)) * (random.Below(2) == 0 ? 1 : -1);
  } else if (field.is_array() && !field.empty()) {
    std::reverse(field.begin(), field.end());
  } else {
    field = nullptr;
  }
}

// The shipped kernel files that OpenCL reads, by name.
std::map<std::string, Json> OpenClFiles() {
  std::map<std::string, Json> files;
  for (const fs::path& path : ShippedFiles(".json")) {
    Json file = Json::parse(*ReadFile(path));
    const Json& languages = file.at("language");
    const bool is_read = languages.is_array() ? std::find(languages.begin(), languages.end(),
                                                          "opencl") != languages.end()
                                              : languages == "opencl";
    if (is_read) files.emplace(path.filename(), std::move(file));
  }
  return files;
}

// A copy of `file` with one field changed.
Json Corrupted(const Json& file, const Json::json_pointer& place, Random& random) {
  Json changed = file;
  Json& parent = changed[place.parent_pointer()];
  switch (random.Below(6)) {
    case 0:
      Erase(parent, place.back());
      break;
    case 1:
      Double(parent, place.back(), Json(changed[place]));
      break;
    case 2:
      changed[place] = Json::array(
          {nullptr, true, -1, 1e300, "", "m", Json::object(), Json::array()})[random.Below(8)];
      break;
    default:
      CorruptValue(changed[place], random);
      break;
  }
  return changed;
}

}  // namespace

std::string KernelMutation::ChangedText() const {
  return changed.dump(-1, ' ', false, Json::error_handler_t::replace);
}

KernelMutation RandomMutation(Random& random) {
  static const std::map<std::string, Json> files = OpenClFiles();
  KernelMutation mutation;
  std::tie(mutation.file_name, mutation.original) =
      *std::next(files.begin(), static_cast<std::ptrdiff_t>(random.Below(files.size())));
  std::vector<Json::json_pointer> places;
  CollectPlaces(mutation.original, Json::json_pointer(), places);
  mutation.place = places[random.Below(places.size())];
  mutation.changed = Corrupted(mutation.original, mutation.place, random);
  return mutation;
}

MutantFolder::MutantFolder() {
  static std::atomic<int> made = 0;
  path_ = fs::path(::testing::TempDir()) /
          fmt::format("attune_kernel_mutant_{}_{}", ::getpid(), made.fetch_add(1));
  fs::create_directories(path_);
  for (const fs::path& source : ShippedFiles(".cl")) {
    fs::copy_file(source, path_ / source.filename());
  }
}

MutantFolder::~MutantFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void MutantFolder::Write(const std::string& json) const {
  std::ofstream(path_ / kMutantFile, std::ios::binary) << json;
}

Result<KernelFile> MutantFolder::Load(const std::string& json) const {
  Write(json);
  return LoadKernelFile(path_ / kMutantFile, KernelLanguage::kOpenCl);
}

}  // namespace attune::kernel
