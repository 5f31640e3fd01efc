// Times attune's choices for batch norm and softmax on an NVIDIA GPU; ops_torch.py compares them
// with PyTorch.
//
//   cuda_ops --set batch_norm|softmax --database FILE [--shard I/N] [--minutes 9] [--json FILE]
//            [--per-problem 20s] [--rounds 15] [--only TEXT] [--device cuda:0] [--shapes FILE]
//   cuda_ops --set softmax --list
//
// Keeps decided problems of --database and rows of --json, so that the same command continues an
// interrupted run. Launches are replayed as a CUDA graph and step through copies of the operands
// that no cache can hold. Exits with 77 without a GPU, with 3 if rows are missing in the end.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/attune/thread_policy.h"
#include "apps/attune/verbs.h"
#include "apps/attune/workshop.h"
#include "attune/base/steady_time.h"
#include "attune/measure/statistics.h"
#include "attune/tuner/tuner.h"
#include "bench/fresh_race.h"
#include "runtime/places.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSkipped = 77;  // There is no GPU.
constexpr int kUsageError = 2;
constexpr int kIncomplete = 3;  // A problem failed, or the time ended.
constexpr int64_t kMinuteNs = 60'000'000'000;
// The size of all copies of the operands: several times the L2 cache of any GPU.
constexpr int64_t kRotationBytes = int64_t{512} << 20;
constexpr double kMib = 1 << 20;

struct Options {
  std::string set;
  std::string database;
  std::string device = "cuda:0";
  std::string shapes;
  std::string only;
  std::string shard = "1/1";
  std::string json;
  double minutes = 9;
  int64_t per_problem_ns = 20'000'000'000;
  int rounds = 15;
  bool list = false;
};

struct Shard {
  size_t index = 0;
  size_t count = 1;
};

// "2/4" is the second of four.
Result<Shard> ParseShard(const std::string& text) {
  unsigned index = 0;
  unsigned count = 0;
  int length = 0;
  const bool is_read = std::sscanf(text.c_str(), "%5u/%5u%n", &index, &count, &length) == 2 &&
                       static_cast<size_t>(length) == text.size();
  if (!is_read || index < 1 || index > count) {
    return InvalidArgument(
        fmt::format("cannot use --shard {}: expected I/N with 1 <= I <= N", text));
  }
  return Shard{index - 1, count};
}

// The list in this source tree, or the one below the current folder on another machine.
std::string DefaultShapes() {
  const std::string built_with = ATTUNE_BENCH_DATA "/ops_shapes.txt";
  std::error_code ignored;
  return std::filesystem::exists(built_with, ignored) ? built_with : "bench/data/ops_shapes.txt";
}

Result<std::vector<Problem>> ReadShapes(const Options& options) {
  std::ifstream file(options.shapes);
  if (!file) return NotFound(fmt::format("cannot read the shapes in {}", options.shapes));
  std::vector<Problem> problems;
  int line_number = 0;
  for (std::string line; std::getline(file, line);) {
    ++line_number;
    if (line.empty() || line.front() == '#') continue;
    Result<Problem> problem = ParseProblem(line);
    if (!problem.ok()) {
      return problem.error().WithContext(fmt::format("{}:{}", options.shapes, line_number));
    }
    if (OperatorName(*problem) != options.set) continue;
    if (Text(*problem).find(options.only) != std::string::npos) problems.push_back(*problem);
  }
  return problems;
}

// Every N-th problem: neighbours in the list cost about the same.
Result<std::vector<Problem>> ProblemsOf(const Options& options) {
  ATTUNE_ASSIGN_OR_RETURN(const Shard shard, ParseShard(options.shard));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Problem> all, ReadShapes(options));
  std::vector<Problem> problems;
  for (size_t i = shard.index; i < all.size(); i += shard.count) problems.push_back(all[i]);
  if (problems.empty()) {
    return NotFound(fmt::format("no problem of set {} matches '{}' in shard {} of {}", options.set,
                                options.only, options.shard, options.shapes));
  }
  return problems;
}

double LargestOperandBytes(const Problem& problem) {
  size_t bytes = 0;
  for (const Operand& operand : Operands(problem)) {
    bytes = std::max(bytes, SpanBytes(operand.tensor));
  }
  return static_cast<double>(bytes);
}

// Bytes that come from memory twice: training and backward of batch norm need all values before
// they write the first result. 0 if the L2 cache holds them. Kernels that keep them on the chip
// need less.
double SecondReadBytes(const Problem& problem, size_t cache_bytes) {
  constexpr int64_t kInference = 1;
  if (OperatorName(problem) != "batch_norm") return 0;
  if (FieldOr(problem, "direction", kInference) == kInference) return 0;
  const double tensor = LargestOperandBytes(problem);
  double bytes = 0;
  for (const Operand& operand : Operands(problem)) {
    const bool is_needed = operand.role == OperandRole::kIn && operand.name != "residual";
    const auto size = static_cast<double>(SpanBytes(operand.tensor));
    if (is_needed && size == tensor) bytes += size;
  }
  return bytes > static_cast<double>(cache_bytes) ? bytes : 0;
}

class Bench {
 public:
  Bench(const Options& options, const Place& place) : options_(options), place_(place) {}

  Status Run(const std::vector<Problem>& problems) {
    const auto budget_ns = static_cast<int64_t>(options_.minutes * static_cast<double>(kMinuteNs));
    const int64_t end_ns = SteadyNowNs() + budget_ns;
    ATTUNE_RETURN_IF_ERROR(ReadRows());
    ATTUNE_ASSIGN_OR_RETURN(store_, OpenSqlStore(options_.database));
    ATTUNE_ASSIGN_OR_RETURN(workshop_, Workshop::Open(place_, WorkshopLimits{}));
    if (!(workshop_->peaks().bytes_per_second > 0)) {
      return workshop_->peaks_status().WithContext("cannot measure the copy bandwidth");
    }
    fmt::print("copy bandwidth {:.0f} GB/s\n{}\n", workshop_->peaks().bytes_per_second / 1e9,
               Header());
    for (size_t i = 0; i < problems.size(); ++i) {
      if (FindRow(problems[i]) != nullptr) {
        PrintRow(*FindRow(problems[i]));
      } else if (SteadyNowNs() >= end_ns) {
        ++not_begun_;
      } else {
        ATTUNE_RETURN_IF_ERROR(AddRow(problems[i], end_ns));
      }
    }
    if (failed_ == 0 && not_begun_ == 0) return Status::Ok();
    return DeadlineExceeded(fmt::format("{} problems failed and {} were not begun in {} minutes",
                                        failed_, not_begun_, options_.minutes));
  }

 private:
  static std::string Header() {
    return fmt::format("{:<72} {:>8} {:>9} {:>9} {:>7}  {}", "problem", "MiB", "floor us",
                       "time us", "GB/s", "candidate");
  }

  static void PrintRow(const Json& row) {
    fmt::print("{:<72} {:>8.2f} {:>9.2f} {:>9.2f} {:>7.0f}  {}\n",
               row["problem"].get<std::string>(), row["mib"].get<double>(),
               row["floor_us"].get<double>(), row["time_us"].get<double>(),
               row["gb_per_second"].get<double>(), row["candidate"].get<std::string>());
    std::fflush(stdout);
  }

  const Json* FindRow(const Problem& problem) const {
    const std::string text = Text(problem);
    const auto found = std::ranges::find_if(
        rows_, [&](const Json& row) { return row.value("problem", "") == text; });
    return found == rows_.end() ? nullptr : &*found;
  }

  // The rows of an earlier run.
  Status ReadRows() {
    if (options_.json.empty() || !std::filesystem::exists(options_.json)) return Status::Ok();
    std::ifstream file(options_.json);
    const Json json = Json::parse(file, nullptr, false);
    if (!json.is_object() || !json.contains("rows") || !json["rows"].is_array()) {
      return DataLoss(fmt::format("cannot continue {}: it has no rows", options_.json));
    }
    for (const Json& row : json["rows"]) rows_.push_back(row);
    return Status::Ok();
  }

  // After each row, because the run may be ended from outside. A rename leaves no partial file.
  Status WriteRows() const {
    if (options_.json.empty()) return Status::Ok();
    const Json json = {{"summary",
                        {{"set", options_.set},
                         {"target", Text(place_.target)},
                         {"bytes_per_second", workshop_->peaks().bytes_per_second}}},
                       {"rows", rows_}};
    const std::string part = options_.json + ".part";
    std::ofstream file(part);
    file << json.dump(2) << '\n';
    file.close();
    std::error_code error;
    if (file) std::filesystem::rename(part, options_.json, error);
    if (file && !error) return Status::Ok();
    return Unavailable(fmt::format("cannot write {}", options_.json));
  }

  // Fails only if no later problem can succeed.
  Status AddRow(const Problem& problem, int64_t end_ns) {
    Result<Json> row = TuneAndTime(problem, end_ns);
    if (!row.ok()) {
      ++failed_;
      fmt::print("{:<72} {}\n", Text(problem), row.error().message());
      std::fflush(stdout);
      return Status::Ok();
    }
    rows_.push_back(*std::move(row));
    PrintRow(rows_.back());
    return WriteRows();
  }

  Result<Json> TuneAndTime(const Problem& problem, int64_t end_ns) {
    TuneOptions tune;
    tune.per_problem_ns = options_.per_problem_ns;
    tune.cache = CacheState::kRotating;
    tune.terms.rotation_bytes = kRotationBytes;
    tune.goes_on = true;
    Tuner tuner(workshop_->PartsFor(*store_), tune);
    ATTUNE_ASSIGN_OR_RETURN(std::optional<Choice> choice, tuner.FindStanding(problem));
    if (!choice.has_value()) {
      TuneBounds bounds;
      bounds.end_ns = end_ns;
      ATTUNE_ASSIGN_OR_RETURN(TuneReport report, tuner.Tune(problem, nullptr, bounds));
      choice = std::move(report.choice);
    }
    if (!choice.has_value()) return Internal("no candidate could be timed");
    return Timed(problem, choice->candidate);
  }

  // In a fresh process: nothing that tuning left behind helps.
  Result<Json> Timed(const Problem& problem, const Candidate& candidate) const {
    RacePlan plan{.device = place_.device_spec,
                  .problem = problem,
                  .candidates = {candidate},
                  .rounds = options_.rounds,
                  .cache = CacheState::kRotating};
    plan.terms.rotation_bytes = kRotationBytes;
    ATTUNE_ASSIGN_OR_RETURN(const RaceSamples samples, RaceInFreshProcess(plan));
    if (samples[0].empty()) {
      return Internal(fmt::format("{} failed in the fresh process", Text(candidate)));
    }
    const double us = Median(samples[0]) / 1e3;
    const double bytes = CompulsoryBytes(problem);
    const double floor_bytes = bytes + SecondReadBytes(problem, place_.cache_bytes);
    const double us_per_byte = 1e6 / workshop_->peaks().bytes_per_second;
    return Json{{"problem", Text(problem)},
                {"mib", LargestOperandBytes(problem) / kMib},
                {"compulsory_us", bytes * us_per_byte},
                {"floor_us", floor_bytes * us_per_byte},
                {"time_us", us},
                {"gb_per_second", bytes / us / 1e3},
                {"candidate", Text(candidate)}};
  }

  const Options& options_;
  const Place& place_;
  std::unique_ptr<RecordStore> store_;
  std::unique_ptr<Workshop> workshop_;
  std::vector<Json> rows_;
  int failed_ = 0;
  int not_begun_ = 0;
};

void AddOptions(CLI::App& app, Options& options) {
  app.add_option("--set", options.set, "The operator")
      ->required()
      ->check(CLI::IsMember({"batch_norm", "softmax"}));
  app.add_option("--database", options.database, "Keep the records in this file");
  app.add_option("--shard", options.shard, "Run the I-th of N parts, as in 1/4");
  app.add_option("--minutes", options.minutes, "Time limit for the run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--json", options.json, "Write the rows to this file, and keep those it has");
  AddDurationOption(app, "--per-problem", options.per_problem_ns,
                    "Tuning time of each problem [default: 20s]");
  app.add_option("--rounds", options.rounds, "Samples of each time")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  app.add_option("--only", options.only, "Only problems with this in their text");
  app.add_option("--device", options.device, "The GPU")->capture_default_str();
  app.add_option("--shapes", options.shapes, "The list of problems")->capture_default_str();
  app.add_flag("--list", options.list, "Print the problems and exit");
}

int Fail(int code, const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "cuda_ops: {}\n", message);
  return code;
}

int Run(const Options& options) {
  const auto problems = ProblemsOf(options);
  if (!problems.ok()) return Fail(kUsageError, problems.error().message());
  if (options.list) {
    for (const Problem& problem : *problems) fmt::print("{}\n", Text(problem));
    return 0;
  }
  if (options.database.empty()) return Fail(kUsageError, "--database is required");
  const LoadedBackends backends = LoadBackends();
  const auto place = FindPlaceToMeasure(backends, options.device);
  if (!place.ok()) {
    return Fail(kSkipped,
                fmt::format("cannot use {}: {}", options.device, place.error().message()));
  }
  const Status status = Bench(options, *place).Run(*problems);
  if (status.ok()) return 0;
  const bool is_late = status.code() == StatusCode::kDeadlineExceeded;
  return Fail(is_late ? kIncomplete : 1, status.message());
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::SetThreadWaitPolicy(argv);
  if (const auto served = attune::MaybeServeRace(argc, argv)) return *served;
  attune::Options options;
  options.shapes = attune::DefaultShapes();
  CLI::App app("Time attune's choices for batch norm and softmax on a GPU", "cuda_ops");
  attune::AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
