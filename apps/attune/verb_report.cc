// attune report: one HTML file with everything that tuning a list found.

#include <fmt/format.h>

#include "apps/attune/json_text.h"
#include "apps/attune/report/page.h"
#include "apps/attune/report/report_data.h"
#include "apps/attune/session/record_place.h"
#include "apps/attune/verbs.h"
#include "apps/attune/winner_table.h"

namespace attune {
namespace {

struct ReportOptions {
  ProblemSelection selection;
  std::string file;
  std::string device;  // FindRecordPlace.
  bool json = false;
};

Json WrittenJson(const ReportOptions& options, const ReportData& data, size_t bytes) {
  const NetworkTotal total = TotalOf(ChosenIn(data));
  return {{"file", options.file},
          {"tag", options.selection.tag},
          {"model", options.selection.model},
          {"session", options.selection.session},
          {"problems", data.problems.size()},
          {"tuned", total.problems},
          {"default_ns", total.default_ns},
          {"tuned_ns", total.tuned_ns},
          {"sets", data.sets},
          {"trials", data.trials},
          {"spaces", data.spaces.size()},
          {"bytes", bytes}};
}

ReportSubject SubjectOf(const ProblemSelection& selection) {
  if (!selection.tag.empty()) return {selection.tag, selection.tag};
  return {selection.model.empty() ? selection.session : selection.model, ""};
}

Result<int> RunReport(Application& application, const ReportOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckJsonHasRoom(options.json, options.file));
  ATTUNE_ASSIGN_OR_RETURN(const RecordPlace where, FindRecordPlace(application, options.device));
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, Resolve(application, options.selection));
  ATTUNE_ASSIGN_OR_RETURN(
      const ReportData data,
      GatherReport(*store, where.place, SubjectOf(options.selection), problems));
  const std::string page = RenderPage(data);
  ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.file, page));
  if (options.json) {
    application.out().Print(Dump(WrittenJson(options, data, page.size())));
  } else if (options.file != "-") {
    application.err().Print(fmt::format("{}: {} problem{}, {} trials.\n", Printable(options.file),
                                        data.problems.size(), data.problems.size() == 1 ? "" : "s",
                                        data.trials));
    application.err().Print(NetworkLine(ChosenIn(data)));
  }
  return kExitDone;
}

}  // namespace

void AddReportVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb = AddVerb(program, "report", "Write a self-contained HTML page with plots",
                           "  attune report --tag resnet50 -o report.html\n"
                           "  attune report --model Resnet50:1 -o network.html");
  AddListOptions(*verb, options->selection, invocation)->require_option(1, 2);
  verb->add_option("-o,--output", options->file, "The file, or - for standard output")
      ->required()
      ->type_name("FILE");
  verb->add_option("--device", options->device, "Where it was tuned")
      ->default_str("cpu, or that of the session");
  AddJsonFlag(*verb, options->json, "Print what was written as JSON, once it is in the file");
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunReport(application, *options);
    };
  });
}

}  // namespace attune
