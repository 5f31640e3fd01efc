#include "attune/verify/output_figure.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "attune/base/element.h"

namespace attune {
Result<FigureReader::Region> FigureReader::RegionOf(const FigureSource& source) const {
  if (source.operand.empty()) return Region{arguments_.workspace, workspace_bytes_};
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].name != source.operand) continue;
    return Region{arguments_.operands[i], SpanBytes(operands_[i].tensor)};
  }
  return InvalidArgument(
      fmt::format("There is no operand '{}' to read a figure of.", source.operand));
}

Result<double> FigureReader::Read(const FigureSource& source) const {
  ATTUNE_ASSIGN_OR_RETURN(const Region region, RegionOf(source));
  const size_t element_bytes = SizeBytes(source.type);
  const uint64_t held = region.size_bytes / element_bytes;
  const auto first = static_cast<uint64_t>(source.first);
  const auto count = static_cast<uint64_t>(source.count);
  if (first > held || count > held - first) {
    const std::string read = count == 1
                                 ? fmt::format("element {}", first)
                                 : fmt::format("elements {} to {}", first, first + count - 1);
    return InvalidArgument(
        fmt::format("The figure '{}' reads {}, and there are {}.", Text(source), read, held));
  }
  std::vector<std::byte> all((first + count) * element_bytes);
  ATTUNE_RETURN_IF_ERROR(device_.Download(region.view, all));
  const std::byte* const elements = all.data() + first * element_bytes;
  double figure = DecodeElement(source.type, elements, 0);
  for (int64_t i = 1; i < source.count && std::isfinite(figure); ++i) {
    const double element = DecodeElement(source.type, elements, i);
    figure = std::isfinite(element) ? Reduced(source.reduction, figure, element) : element;
  }
  if (std::isfinite(figure)) return figure;
  return Unavailable(fmt::format(
      "The figure '{}' is {}: what the kernel did not write is no number.", Text(source), figure));
}

}  // namespace attune
