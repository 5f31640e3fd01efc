#include "attune/tunable/numerical_check.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "attune/problem/text_error.h"

namespace attune {
namespace {

bool ReadNumber(std::string_view text, double& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

Result<NumericalCheck> ParseNumericalCheck(std::string_view text) {
  NumericalCheck check;
  if (text == "0") return check;
  if (text == "1") {
    return InvalidArgument(
        "NUMERICAL_CHECK=1 does not say which tolerances. Write ATOL_RTOL, as in 1e-2_1e-1, or 0 "
        "for no check.");
  }
  const size_t at = text.find('_');
  check.enabled = true;
  if (at == std::string_view::npos || !ReadNumber(text.substr(0, at), check.atol) ||
      !ReadNumber(text.substr(at + 1), check.rtol)) {
    return InvalidArgument(fmt::format(
        "Expected 0 or ATOL_RTOL as in 1e-2_1e-1 for NUMERICAL_CHECK, found {}.", Quoted(text)));
  }
  ATTUNE_RETURN_IF_ERROR(Validate(check));
  return check;
}

Status Validate(const NumericalCheck& check) {
  const auto good = [](double value) { return std::isfinite(value) && value > 0; };
  if (good(check.atol) && good(check.rtol)) return Status::Ok();
  return InvalidArgument(fmt::format(
      "Tolerances of the numerical check have to be positive and finite: atol is {}, rtol is {}.",
      check.atol, check.rtol));
}

std::string Text(const NumericalCheck& check) {
  return check.enabled ? fmt::format("{}_{}", check.atol, check.rtol) : "0";
}

}  // namespace attune
