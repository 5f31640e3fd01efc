// The style sheet of the report, light or dark as the reader's system is.
#pragma once

#include <string_view>

namespace attune {

std::string_view ReportStyle();

}  // namespace attune
