// attune report: one HTML file with everything that tuning a list found.

#include <fmt/format.h>

#include "apps/attune/report/page.h"
#include "apps/attune/report/report_data.h"
#include "apps/attune/verbs.h"

namespace attune {
namespace {

struct ReportOptions {
  std::string tag;
  std::string file;
  std::string device = "cpu";
};

Result<int> RunReport(Application& application, const ReportOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const Place place,
                          FindPlace(application.backends().list, options.device));
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.store());
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, application.ProblemsOf(options.tag));
  ATTUNE_ASSIGN_OR_RETURN(const ReportData data,
                          GatherReport(*store, place, options.tag, problems));
  ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.file, RenderPage(data)));
  if (options.file != "-") {
    application.err().Print(fmt::format("{}: {} problem{}, {} trials.\n", Printable(options.file),
                                        data.problems.size(), data.problems.size() == 1 ? "" : "s",
                                        data.trials));
  }
  return kExitDone;
}

}  // namespace

void AddReportVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb = AddVerb(program, "report", "Write a self-contained HTML page with plots",
                           "  attune report --tag resnet50 -o report.html");
  verb->add_option("--tag", options->tag, "The list")->required();
  verb->add_option("-o,--output", options->file, "The file, or - for standard output")
      ->required()
      ->type_name("FILE");
  verb->add_option("--device", options->device, "Where it was tuned")->capture_default_str();
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunReport(application, *options);
    };
  });
}

}  // namespace attune
