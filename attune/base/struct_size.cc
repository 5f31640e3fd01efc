#include "attune/base/struct_size.h"

#include <fmt/format.h>

namespace attune {

Status CheckStructSize(size_t given, size_t least, std::string_view fields_of,
                       std::string_view set_with) {
  constexpr size_t kUnit = sizeof(uint64_t);
  if (given >= least && given <= kMostStructSize && given % kUnit == 0) return Status::Ok();
  return InvalidArgument(
      fmt::format("Field 'struct_size' of {} is {}; it has to be a multiple of {} from {} to {}.\n"
                  "hint: set it with {}",
                  fields_of, given, kUnit, least, kMostStructSize, set_with));
}

}  // namespace attune
