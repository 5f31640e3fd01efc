#include "attune/runtime/tuner_environment.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace attune {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::string_view kFaces[] = {"libattune_blas.so", "libattune_cublas.so"};

bool IsFace(std::string_view name) {
  return std::any_of(std::begin(kFaces), std::end(kFaces), [name](std::string_view face) {
    return name.find(face) != std::string_view::npos;
  });
}

}  // namespace

std::string WithoutOurPreload(std::string_view preload) {
  std::string kept;
  // The loader separates by spaces and colons.
  while (!preload.empty()) {
    const size_t end = preload.find_first_of(" :");
    const std::string_view name = preload.substr(0, end);
    preload.remove_prefix(end == std::string_view::npos ? preload.size() : end + 1);
    if (name.empty() || IsFace(name)) continue;
    if (!kept.empty()) kept += ':';
    kept += name;
  }
  return kept;
}

TunerEnvironment::TunerEnvironment() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with(kPreload)) {
      entries_.emplace_back(text);
      continue;
    }
    const std::string kept = WithoutOurPreload(text.substr(kPreload.size()));
    if (!kept.empty()) entries_.push_back(std::string(kPreload) + kept);
  }
  for (std::string& entry : entries_) pointers_.push_back(entry.data());
  pointers_.push_back(nullptr);
}

}  // namespace attune
