// Any text as JSON. The reader gives the same values as nlohmann's parser and accepts the same
// texts, except those with equal keys, deep nesting or a zero byte. Its errors have a place. The
// beginning of an accepted text is an open text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "attune/base/json_reader.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

using attune::FuzzCheck;

bool IsOfTermsAlone(std::string_view error) {
  return error.find("stands twice") != std::string_view::npos ||
         error.find("levels of nesting") != std::string_view::npos;
}

void CheckSameAsUsual(std::string_view text) {
  const auto read = attune::ReadJson(text, {64, false});
  const auto usual = nlohmann::json::parse(text, nullptr, false);
  if (read.ok()) return FuzzCheck(*read == usual);
  const bool has_zero = text.find('\0') != text.npos;
  FuzzCheck(usual.is_discarded() || has_zero || IsOfTermsAlone(read.error().message()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  CheckSameAsUsual(text);
  const auto read = attune::ReadOpenJson(text, attune::kJsonOfOthers);
  if (!read.ok()) {
    FuzzCheck(read.error().message().starts_with("line "));
    return 0;
  }
  const auto whole = attune::ReadJson(text, attune::kJsonOfOthers);
  FuzzCheck(whole.ok() != read->end.has_value());
  std::string pointer;
  if (read->end.has_value()) {
    for (const auto& key : read->end->path) pointer += "/" + attune::PointerToken(key);
  }
  const attune::TextPlace place = attune::PlaceOf(text, pointer);
  FuzzCheck(place.line >= 1 && place.column >= 1);
  // Not in the middle of a number, which is another number.
  const size_t half = size / 2;
  const auto begun = attune::ReadOpenJson(std::string_view(text).substr(0, half), {64, true});
  FuzzCheck(begun.ok());
  return 0;
}
