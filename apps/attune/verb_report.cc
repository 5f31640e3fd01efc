// attune report: one HTML file with everything that tuning a list found.

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/json_text.h"
#include "apps/attune/kernel_options.h"
#include "apps/attune/labels.h"
#include "apps/attune/objective_run.h"
#include "apps/attune/replaced_file.h"
#include "apps/attune/report/page.h"
#include "apps/attune/report/plots.h"
#include "apps/attune/report/report_data.h"
#include "apps/attune/session/record_place.h"
#include "apps/attune/verbs.h"
#include "apps/attune/winner_table.h"
#include "attune/index/candidate_models.h"
#include "attune/index/model_origin.h"
#include "runtime/launches_at.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

struct ReportOptions {
  ProblemSelection selection;
  std::string file;
  std::string device;  // FindRecordPlace.
  std::string kernel;  // The file of a user's kernel.
  std::string model;   // A file of 'attune model fit'; empty: the models beside the database.
  bool json = false;
};

Json NetworksJson(const std::vector<ToldTotal>& totals) {
  Json list = Json::array();
  for (const auto& [network, total] : totals) {
    if (!network.has_value()) continue;
    list.push_back({{"model", network->model},
                    {"model_version", network->model_version},
                    {"framework", network->framework},
                    {"framework_version", network->framework_version},
                    {"problems", total.problems + total.left_out},
                    {"tuned", total.problems},
                    {"default_ns", total.default_ns},
                    {"tuned_ns", total.tuned_ns}});
  }
  return list;
}

Json WrittenJson(const ReportOptions& options, const ReportData& data, size_t predicted,
                 size_t bytes) {
  // A sum over several networks is the time of no real program.
  const bool is_one = data.totals.size() == 1;
  const NetworkTotal& total = data.totals.front().total;
  return {{"file", options.file},
          {"tag", options.selection.tag},
          {"model", options.selection.model},
          {"framework", options.selection.framework},
          {"session", options.selection.session},
          {"problems", data.problems.size()},
          {"tuned", std::count_if(data.problems.begin(), data.problems.end(), IsMeasured)},
          {"default_ns", is_one ? Json(total.default_ns) : Json()},
          {"tuned_ns", is_one ? Json(total.tuned_ns) : Json()},
          {"networks", NetworksJson(data.totals)},
          {"sets", data.sets},
          {"trials", data.trials},
          {"spaces", data.spaces.size()},
          {"predicted", predicted},
          {"bytes", bytes}};
}

Result<ReportSubject> SubjectOf(Application& application, const ProblemSelection& selection) {
  if (!selection.tag.empty()) return ReportSubject{selection.tag, selection.tag};
  if (selection.model.empty() && selection.session.empty() && !selection.problems.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(const Problem first, ParseOneProblem(selection.problems.front()));
    return ReportSubject{Label(first), ""};
  }
  if (selection.model.empty()) return ReportSubject{selection.session, ""};
  ReportSubject subject{selection.model, ""};
  ATTUNE_ASSIGN_OR_RETURN(subject.networks, SelectedNetworks(application, selection));
  if (subject.networks.size() == 1) subject.title = Label(subject.networks.front().network);
  return subject;
}

// A named file that is refused is an error; files beside the database only cause a note.
Result<CandidateModels> ModelsToShow(Application& application, const ReportOptions& options,
                                     const Place& place) {
  ModelLocation location;
  if (!options.model.empty()) {
    location.files = {options.model};
  } else {
    const auto database = application.DatabasePath();
    if (database.ok() && !IsOnServer(*database)) location.database = *database;
  }
  CandidateModels models(location, OriginOf(place.target, place.environment), LaunchesAt(place));
  if (models.refusals().empty()) return models;
  if (!options.model.empty()) return models.refusals().front();
  for (const Status& refusal : models.refusals()) {
    application.err().Print(fmt::format("attune report: A model of time is not shown: {}\n",
                                        Printable(refusal.message())));
  }
  return models;
}

Result<int> RunReport(Application& application, const ReportOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckJsonHasRoom(options.json, options.file));
  ATTUNE_RETURN_IF_ERROR(CheckNoInputOfKernel(options.file, options.kernel));
  ATTUNE_RETURN_IF_ERROR(CheckNoInput(
      options.file, std::vector<std::string>{options.model, application.named_database()}));
  ATTUNE_ASSIGN_OR_RETURN(const RecordPlace where, FindRecordPlace(application, options.device));
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, Resolve(application, options.selection));
  ATTUNE_ASSIGN_OR_RETURN(ReportSubject subject, SubjectOf(application, options.selection));
  ATTUNE_ASSIGN_OR_RETURN(const auto figures, FiguresToRead(application));
  subject.figures = figures.get();
  ATTUNE_ASSIGN_OR_RETURN(const ReportData data,
                          GatherReport(*store, where.place, subject, problems));
  ATTUNE_ASSIGN_OR_RETURN(const CandidateModels models,
                          ModelsToShow(application, options, where.place));
  const std::vector<PredictedTime> predicted = PredictedTimes(data, models);
  const std::string page = RenderPage(data, predicted);
  ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.file, page));
  if (options.json) {
    application.out().Print(Dump(WrittenJson(options, data, predicted.size(), page.size())));
  } else if (options.file != "-") {
    application.err().Print(fmt::format("{}: {} problem{}, {} trials.\n", Printable(options.file),
                                        data.problems.size(), data.problems.size() == 1 ? "" : "s",
                                        data.trials));
    application.err().Print(TotalLines(data.totals));
  }
  return kExitDone;
}

}  // namespace

void AddReportVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb =
      AddVerb(program, "report", "Write a self-contained HTML page with plots",
              "  attune report --tag resnet50 -o report.html\n"
              "  attune report --model Resnet50:1 --framework Pytorch:1 -o network.html");
  auto* group = AddListOptions(*verb, options->selection, invocation);
  group->require_option(1, 2);
  verb->add_option("-o,--output", options->file, "The file, or - for standard output")
      ->required()
      ->type_name("FILE");
  verb->add_option("--device", options->device, "Where it was tuned")
      ->default_str("cpu, or that of the session");
  verb->add_option("--time-model", options->model,
                   "Show what this model predicts beside what was measured (default: that of the "
                   "device beside the database, if 'attune model fit' has made one)")
      ->type_name("FILE");
  AddKernelFileOptions(*verb, *group, options->selection.problems, options->device,
                       options->kernel);
  AddJsonFlag(*verb, options->json, "Print what was written as JSON, once it is in the file");
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunReport(application, *options);
    };
  });
}

}  // namespace attune
