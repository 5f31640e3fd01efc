// The report: one HTML file that needs nothing else, no network and no script.
#pragma once

#include <string>

#include "apps/attune/report/report_data.h"

namespace attune {

std::string RenderPage(const ReportData& data);

}  // namespace attune
