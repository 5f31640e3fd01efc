// The report: one HTML file that needs nothing else, no network and no script.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/report/model_view.h"
#include "apps/attune/report/report_data.h"

namespace attune {

// `predicted`: of everything that was timed, if there is a model.
std::string RenderPage(const ReportData& data, const std::vector<PredictedTime>& predicted = {});

}  // namespace attune
