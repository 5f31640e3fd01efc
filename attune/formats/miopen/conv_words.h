// MIOpen's words for the properties of a convolution, as its databases spell them.
// docs/formats/miopen.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attune::miopen {

enum class Direction : uint8_t { kForward, kBackwardData, kBackwardWeights };
char Letter(Direction direction);  // 'F', 'B', 'W'.
std::optional<Direction> DirectionOf(std::string_view letter);

// Memory layout of one tensor. NCHWc and CHWNc hold channels in vectors; MIOpen writes "UNKNOWN" if
// the strides fit no name.
enum class TensorLayout : uint8_t { kNchw, kNhwc, kChwn, kNchwc, kChwnc, kNcdhw, kNdhwc, kUnknown };
std::string_view Name(TensorLayout layout);
std::optional<TensorLayout> LayoutOf(std::string_view name);

enum class ElementType : uint8_t { kFp32, kFp16, kBf16, kInt8, kInt32, kInt64, kFp64, kFp8, kBf8 };
std::string_view Name(ElementType type);
std::optional<ElementType> TypeOf(std::string_view name);

// Types of input, weights and output.
using ElementTypes = std::array<ElementType, 3>;

// One name if all three are the same, else the three without a separator: "INT8INT8INT32".
std::string TextOf(const ElementTypes& types);
std::optional<ElementTypes> TypesOf(std::string_view text);

}  // namespace attune::miopen
