#include "attune/formats/miopen/conv_words.h"

#include <algorithm>
#include <iterator>

namespace attune::miopen {
namespace {

constexpr std::string_view kDirections = "FBW";
constexpr std::string_view kLayouts[] = {"NCHW",  "NHWC",  "CHWN",  "NCHWc",
                                         "CHWNc", "NCDHW", "NDHWC", "UNKNOWN"};
// None begins with another one.
constexpr std::string_view kTypes[] = {"FP32",  "FP16", "BF16", "INT8", "INT32",
                                       "INT64", "FP64", "FP8",  "BF8"};

template <class Enum, size_t kSize>
std::optional<Enum> FindName(const std::string_view (&names)[kSize], std::string_view name) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Enum>(found - std::begin(names));
}

}  // namespace

char Letter(Direction direction) { return kDirections[static_cast<size_t>(direction)]; }

std::optional<Direction> DirectionOf(std::string_view letter) {
  if (letter.size() != 1) return std::nullopt;
  const size_t found = kDirections.find(letter);
  if (found == kDirections.npos) return std::nullopt;
  return static_cast<Direction>(found);
}

std::string_view Name(TensorLayout layout) { return kLayouts[static_cast<size_t>(layout)]; }

std::optional<TensorLayout> LayoutOf(std::string_view name) {
  return FindName<TensorLayout>(kLayouts, name);
}

std::string_view Name(ElementType type) { return kTypes[static_cast<size_t>(type)]; }

std::optional<ElementType> TypeOf(std::string_view name) {
  return FindName<ElementType>(kTypes, name);
}

std::string TextOf(const ElementTypes& types) {
  std::string text(Name(types[0]));
  if (types[1] == types[0] && types[2] == types[0]) return text;
  text += Name(types[1]);
  text += Name(types[2]);
  return text;
}

std::optional<ElementTypes> TypesOf(std::string_view text) {
  if (const auto all = TypeOf(text)) return ElementTypes{*all, *all, *all};
  ElementTypes types = {};
  for (ElementType& type : types) {
    const auto* const name =
        std::find_if(std::begin(kTypes), std::end(kTypes),
                     [text](std::string_view each) { return text.starts_with(each); });
    if (name == std::end(kTypes)) return std::nullopt;
    type = static_cast<ElementType>(name - std::begin(kTypes));
    text.remove_prefix(name->size());
  }
  if (!text.empty()) return std::nullopt;
  return types;
}

}  // namespace attune::miopen
