// The samples of `attune model`: records, find-dbs of MIOpen, tables.

#include <memory>
#include <set>

#include <fmt/format.h>

#include "apps/attune/session/record_place.h"
#include "attune/base/file.h"
#include "attune/base/text.h"
#include "attune/index/model_origin.h"
#include "attune/model/launch_features.h"
#include "attune/model/shape_features.h"
#include "attune/ops/registry.h"
#include "extensions/models/model_verbs.h"
#include "extensions/models/samples/conv_features.h"
#include "extensions/models/samples/time_samples.h"
#include "extensions/models/seer/csv.h"
#include "runtime/launches_at.h"
#include "storage/miopen/database.h"

namespace attune::model {
namespace {

Result<std::shared_ptr<const LaunchSource>> LaunchesFor(const RecordPlace& at, bool dry_run) {
  if (!dry_run) return LaunchesAt(at.place);
  if (at.has_device()) return DryRunsAt(at.place);
  return FailedPrecondition(
      "--dry-run asks the device what candidates launch, and it is not here: leave it out.");
}

Result<TimedCandidate> TimedIn(const CsvRow& row, const std::vector<size_t>& columns,
                               double scale) {
  auto problem = ParseProblem(row.fields[columns[0]]);
  if (!problem.ok()) {
    return problem.error().WithContext(fmt::format("Line {}", row.line));
  }
  ATTUNE_ASSIGN_OR_RETURN(const double time, NumberIn(row, columns[2], 0));
  const std::string& algorithm = row.fields[columns[1]];
  if (time <= 0 || algorithm.empty() || !IsOneLine(algorithm)) {
    return InvalidArgument(
        fmt::format("Line {}: a row has a candidate, in one line, and a time above 0.", row.line));
  }
  return TimedCandidate{*std::move(problem), algorithm, time * scale};
}

// Skips rows without a time, which exports have for problems never tuned.
Result<std::vector<TimedCandidate>> FromTable(const std::string& file) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  const auto named = [&](const Status& status) {
    return status.WithContext(fmt::format("'{}'", file));
  };
  const auto table = ReadCsv(text);
  if (!table.ok()) return named(table.error());
  double scale = 1;
  auto columns = ColumnsOf(*table, {"problem", "candidate", "time_ms"});
  if (!columns.ok()) {
    scale = 1e-6;
    columns = ColumnsOf(*table, {"problem", "candidate", "median_ns"});
  }
  if (!columns.ok()) {
    return named(InvalidArgument(
        "A table has the columns problem, candidate and time_ms, or median_ns as exports have."));
  }
  std::vector<TimedCandidate> timed;
  for (const CsvRow& row : table->rows) {
    if (row.fields[(*columns)[2]].empty()) continue;
    auto one = TimedIn(row, *columns, scale);
    if (!one.ok()) return named(one.error());
    timed.push_back(*std::move(one));
  }
  return timed;
}

Result<std::string> OnlyOperator(const std::vector<TimedCandidate>& timed,
                                 const std::string& named) {
  if (!named.empty()) return named;
  std::set<std::string> operators;
  for (const TimedCandidate& one : timed) operators.emplace(OperatorName(one.problem));
  if (operators.size() == 1) return *operators.begin();
  if (operators.empty()) {
    return FailedPrecondition(
        "There are no measured times to look at. 'attune tune' makes records, --miopen and --csv "
        "read files.");
  }
  return InvalidArgument(
      fmt::format("There are times of {}, and a model is of one operator: name it with --operator.",
                  fmt::join(operators, ", ")));
}

Result<TimeSamples> DataOf(const std::vector<TimedCandidate>& timed, const Sources& sources,
                           const LaunchSource* launches) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string name, OnlyOperator(timed, sources.operator_name));
  return SamplesOf(timed, name, launches);
}

Result<TimeSamples> FromFindDbs(const Sources& sources) {
  TimeSamples data;
  ATTUNE_ASSIGN_OR_RETURN(data.features, ShapeFeatures("conv"));
  data.origin.library = "miopen";
  for (const std::string& file : sources.find_dbs) {
    ATTUNE_ASSIGN_OR_RETURN(const miopen::Database database, miopen::ReadDatabase(file));
    const miopen::FindDb* const db = database.find_db();
    if (db == nullptr) {
      return InvalidArgument(fmt::format("'{}' is no find-db: it has no times.", file));
    }
    if (!data.origin.device.empty() && data.origin.device != database.name.target) {
      return InvalidArgument(
          fmt::format("'{}' is of {}, and what came before of {}: a model is of one device.", file,
                      database.name.target, data.origin.device));
    }
    data.origin.device = database.name.target;
    miopen::FindSamples found = miopen::SamplesOf(*db);
    for (Sample& sample : found.samples) {
      sample.configuration += data.configurations;
      data.samples.push_back(std::move(sample));
    }
    data.configurations += found.layers.size();
    data.left_out += found.left_out;
  }
  return data;
}

Result<TimeSamples> FromTables(const Sources& sources) {
  std::vector<TimedCandidate> timed;
  for (const std::string& file : sources.tables) {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<TimedCandidate> more, FromTable(file));
    timed.insert(timed.end(), more.begin(), more.end());
  }
  ATTUNE_ASSIGN_OR_RETURN(TimeSamples data, DataOf(timed, sources, nullptr));
  data.origin = {"unnamed", "unnamed"};
  return data;
}

Result<TimeSamples> FromRecords(Application& application, const Sources& sources) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  ATTUNE_ASSIGN_OR_RETURN(const RecordPlace at, FindRecordPlace(application, sources.device));
  const ModelOrigin origin = OriginOf(at.place.target, at.place.environment);
  ATTUNE_ASSIGN_OR_RETURN(const auto timed, TimedInRecords(*store, at.place.target, origin));
  ATTUNE_ASSIGN_OR_RETURN(const auto launches, LaunchesFor(at, sources.dry_run));
  ATTUNE_ASSIGN_OR_RETURN(TimeSamples data, DataOf(timed, sources, launches.get()));
  data.origin = origin;
  return data;
}

}  // namespace

void AddSourceOptions(CLI::App& verb, Sources& sources) {
  CLI::Option* const miopen =
      verb.add_option("--miopen", sources.find_dbs,
                      "Times of a find-db of MIOpen instead of records; may be repeated")
          ->allow_extra_args(false)
          ->type_name("FILE");
  CLI::Option* const csv =
      verb.add_option(
              "--csv", sources.tables,
              "Times of a table with the columns problem, candidate and time_ms, or of one that "
              "'attune export' wrote; may be repeated")
          ->allow_extra_args(false)
          ->type_name("FILE")
          ->excludes(miopen);
  verb.add_option("--device", sources.device, "Of which device's records; see 'attune devices'")
      ->excludes(miopen)
      ->excludes(csv);
  verb.add_flag(
          "--dry-run", sources.dry_run,
          "Ask the device what each candidate of the records launches: its calls are captured, "
          "and nothing runs")
      ->excludes(miopen)
      ->excludes(csv);
  verb.add_option("--operator", sources.operator_name, "Where there are times of several")
      ->check(CLI::IsMember(OperatorNames()))
      ->excludes(miopen);
  verb.add_option("--device-name", sources.origin_device, "What device the times are of")
      ->check(SeenText());
  verb.add_option("--library", sources.origin_library, "Whose kernels were timed, and the version")
      ->check(SeenText());
}

Result<TimeSamples> ReadData(Application& application, const Sources& sources) {
  Result<TimeSamples> data = !sources.find_dbs.empty() ? FromFindDbs(sources)
                             : !sources.tables.empty() ? FromTables(sources)
                                                       : FromRecords(application, sources);
  if (!data.ok()) return data;
  if (!sources.origin_device.empty()) data->origin.device = sources.origin_device;
  if (!sources.origin_library.empty()) data->origin.library = sources.origin_library;
  return data;
}

Result<FeatureSet> FeaturesNamed(const std::string& name) {
  for (const Operator* op : Operators()) {
    ATTUNE_ASSIGN_OR_RETURN(FeatureSet features, FeaturesCalled(name, op->name()));
    if (features.name == name) return features;
  }
  if (FeatureSet features = ConvFeatures(); features.name == name) return features;
  return Unsupported(fmt::format("The model is of features '{}', which this program does not have.",
                                 Excerpt(name)));
}

Json ScoreJson(const ModelScore& score) {
  return {{"samples", score.samples},           {"mean_error", score.mean_error},
          {"median_error", score.median_error}, {"within_interval", score.within_interval},
          {"choices", score.choices},           {"chose_best", score.best},
          {"wrong_choices", score.wrong},       {"geometric_regret", score.geometric_regret},
          {"top2_regret", score.top2_regret}};
}

std::string ScoreText(const ModelScore& score) {
  std::string text = fmt::format(
      "{} samples: mean error {:.1f} %, median {:.1f} %, {:.1f} % within their interval.\n",
      score.samples, 100 * score.mean_error, 100 * score.median_error,
      score.samples == 0
          ? 0
          : 100 * static_cast<double>(score.within_interval) / static_cast<double>(score.samples));
  if (score.choices == 0) return text;
  const auto choices = static_cast<double>(score.choices);
  return text +
         fmt::format(
             "{} choices: the best in {:.1f} %, more than a tenth slower in {:.1f} %, regret "
             "{:.4f}, with two measured {:.4f}.\n",
             score.choices, 100 * static_cast<double>(score.best) / choices,
             100 * static_cast<double>(score.wrong) / choices, score.geometric_regret,
             score.top2_regret);
}

}  // namespace attune::model
