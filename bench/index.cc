// Figures of the run-time index: how long the first lookup of a process waits, lookups and nearest
// neighbours after that, memory, and how long it takes to write and to refresh an index.
//
//   index [--problems N] [--folder DIR] [--json]
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "attune/base/random.h"
#include "attune/index/choice_index.h"
#include "attune/index/index_writer.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/record_store.h"
#include "bench/figures.h"

namespace attune {
namespace {

struct Options {
  int64_t problems = 200'000;
  std::string folder;
  bool json = false;
  std::string child_index;  // Set in a child: time the first lookup in this file.
};

double MicrosecondsSince(WallClock::time_point start) { return SecondsSince(start) * 1e6; }

// Shapes as programs have them: sizes over three orders of magnitude, four families.
Problem BenchProblem(int64_t index) {
  Random random(static_cast<uint64_t>(index) + 1);
  Gemm gemm;
  gemm.m = 2 + static_cast<int64_t>(random.Below(uint64_t{1} << (4 + random.Below(9))));
  gemm.n = 2 + static_cast<int64_t>(random.Below(uint64_t{1} << (4 + random.Below(9))));
  gemm.k = 2 + index;
  gemm.trans_a = index % 2 == 0 ? Transpose::kNo : Transpose::kYes;
  gemm.trans_b = index / 2 % 2 == 0 ? Transpose::kNo : Transpose::kYes;
  return Normalized(gemm);
}

Trial BenchTrial(int64_t number, double median_ns) {
  constexpr int kSamples = 12;
  Trial trial;
  trial.role = TrialRole::kFinal;
  trial.candidate.solver = {"host.packed-gemm", 1};
  trial.candidate.config["mc"] = int64_t{16} * (1 + number % 10);
  trial.candidate.config["nc"] = int64_t{32} * (1 + number / 10 % 10);
  trial.candidate.config["threads"] = int64_t{2};
  trial.is_default = number == 0;
  Measurement measurement;
  measurement.samples_ns.assign(kSamples, median_ns);
  measurement.median_ns = measurement.low_ns = measurement.high_ns = median_ns;
  measurement.confidence = 0.99;
  trial.outcome = std::move(measurement);
  return trial;
}

// Tuned problems that are computed when they are asked for, so that the index is timed and not a
// database. Every problem is one set of four trials and the end of it.
class BenchStore final : public RecordStore {
 public:
  explicit BenchStore(int64_t problems) : problems_(problems) {
    set_.target = {"host", "Bench", "x86-64-v4", 2, {{"isa", "avx512"}}};
    for (int i = 0; i < 20; ++i) set_.environment[fmt::format("host.fact_{}", i)] = "some text";
  }

  void Grow(int64_t problems) { problems_ = problems; }

  Status AddProblems(std::string_view, std::span<const TaggedProblem>) override { return Refuse(); }
  Result<std::vector<TaggedProblem>> Problems(std::string_view) override { return Refuse(); }
  Result<std::vector<std::pair<std::string, int64_t>>> Tags() override { return Refuse(); }
  Status AddNetwork(const Network&, std::span<const TaggedProblem>) override { return Refuse(); }
  Result<std::vector<TaggedProblem>> ProblemsOf(const Network&) override { return Refuse(); }
  Result<std::vector<std::pair<Network, int64_t>>> Networks() override { return Refuse(); }
  Status BeginSet(const MeasurementSet&) override { return Refuse(); }
  Status Append(std::string_view, std::span<const Trial>) override { return Refuse(); }
  Status AppendQualified(std::string_view, std::span<const Qualified>) override { return Refuse(); }
  Status NoteConditions(std::string_view, const SetConditions&) override { return Refuse(); }
  Status FinishSet(std::string_view) override { return Refuse(); }
  Result<StoreState> State() override { return StoreState{id_, problems_ * kRevisions}; }
  Status Visit(const RecordQuery& query,
               const std::function<Status(const RecordedSet&)>& visit) override {
    for (int64_t i = query.after_revision / kRevisions; i < problems_; ++i) {
      RecordedSet recorded{set_, true, {}};
      recorded.set.problem = BenchProblem(i);
      for (int64_t k = 0; k + 1 < kRevisions; ++k) {
        recorded.records.push_back(
            {i * kRevisions + k + 1, 0,
             BenchTrial(k == 0 ? 0 : i % 90 + k, 1e5 - 1e4 * static_cast<double>(k))});
      }
      ATTUNE_RETURN_IF_ERROR(visit(recorded));
    }
    return Status::Ok();
  }

 private:
  static constexpr int64_t kRevisions = 5;
  static Status Refuse() { return Unsupported("This store is only read."); }

  int64_t problems_;
  MeasurementSet set_;
  std::string id_ = NewDatabaseId();
};

// Bytes of this process in memory.
int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * ::sysconf(_SC_PAGESIZE);
}

// In a fresh process: prints the cost of its first lookup, then of a thousand more.
int PrintFirstLookup(const Options& options) {
  const Problem problem = BenchProblem(options.problems / 3);
  const int64_t before_bytes = ResidentBytes();
  const WallClock::time_point start = WallClock::now();
  const auto index = ChoiceIndex::Open(options.child_index);
  Require(index.status());
  const auto found = (*index)->Find(problem);
  const double first_us = MicrosecondsSince(start);
  Require(found.status());
  if (found->empty()) Require(Internal("The first lookup found nothing."));
  const double first_kib = static_cast<double>(ResidentBytes() - before_bytes) / 1024;
  for (int64_t i = 0; i < 1000; ++i) {
    Require((*index)->Find(BenchProblem(i * options.problems / 1000)).status());
  }
  const double thousand_kib = static_cast<double>(ResidentBytes() - before_bytes) / 1024;
  fmt::print("{} {} {}\n", first_us, first_kib, thousand_kib);
  return 0;
}

struct FirstLookup {
  double first_us = 0;
  double first_kib = 0;
  double thousand_kib = 0;
};

FirstLookup RunChild(const std::string& index, const Options& options) {
  const std::string output = index + ".out";
  RunAgain({"--child-index", index, "--problems", fmt::format("{}", options.problems)}, output);
  FirstLookup result;
  std::ifstream(output) >> result.first_us >> result.first_kib >> result.thousand_kib;
  return result;
}

FirstLookup MedianFirstLookup(const std::string& index, const Options& options, DiskCache cache) {
  constexpr int kRuns = 9;
  std::vector<FirstLookup> runs;
  for (int i = 0; i < kRuns; ++i) {
    if (cache == DiskCache::kCold) Forget(index);
    runs.push_back(RunChild(index, options));
  }
  std::sort(runs.begin(), runs.end(),
            [](const FirstLookup& a, const FirstLookup& b) { return a.first_us < b.first_us; });
  return runs[kRuns / 2];
}

double RefreshMs(BenchStore& store, const std::string& index) {
  const WallClock::time_point start = WallClock::now();
  Require(RefreshIndex(store, index, {}).status());
  return MicrosecondsSince(start) / 1e3;
}

void AddLookupFigures(const std::string& path, const Options& options,
                      std::vector<Figure>& figures) {
  constexpr int64_t kLookups = 2000;
  const auto index = ChoiceIndex::Open(path);
  Require(index.status());
  std::vector<double> find_us;
  std::vector<double> nearest_us;
  for (int64_t i = 0; i < kLookups; ++i) {
    const Problem known = BenchProblem(i * options.problems / kLookups);
    WallClock::time_point start = WallClock::now();
    Require((*index)->Find(known).status());
    find_us.push_back(MicrosecondsSince(start));
    // Shapes that are not in the index, as a miss has them.
    Gemm unknown = BenchProblem(i).Get<Gemm>();
    unknown.m += 1;
    unknown.k = 2 + unknown.k * 37 % 4096;
    unknown.lda = unknown.ldb = unknown.ldc = 0;
    const Problem missed = Normalized(unknown);
    start = WallClock::now();
    Require((*index)->Nearest(missed, 4, 2).status());
    nearest_us.push_back(MicrosecondsSince(start));
  }
  figures.push_back({"find_median_us", MedianOf(find_us), ""});
  figures.push_back({"nearest_median_us", MedianOf(nearest_us), "< 100"});
  std::sort(nearest_us.begin(), nearest_us.end());
  figures.push_back({"nearest_p99_us", nearest_us[nearest_us.size() * 99 / 100], ""});
}

std::vector<Figure> Measure(const std::string& index, const Options& options) {
  std::vector<Figure> figures;
  BenchStore store(options.problems - 100);
  figures.push_back({"write_ms", RefreshMs(store, index), ""});
  store.Grow(options.problems);
  figures.push_back({"refresh_100_sets_ms", RefreshMs(store, index), ""});
  figures.push_back({"refresh_nothing_ms", RefreshMs(store, index), ""});
  const auto size_bytes = static_cast<double>(std::filesystem::file_size(index));
  figures.push_back({"file_mib", size_bytes / (1 << 20), ""});
  const FirstLookup warm = MedianFirstLookup(index, options, DiskCache::kWarm);
  const FirstLookup cold = MedianFirstLookup(index, options, DiskCache::kCold);
  figures.push_back({"first_lookup_warm_us", warm.first_us, "< 5000"});
  figures.push_back({"first_lookup_cold_disk_us", cold.first_us, "< 5000"});
  figures.push_back({"resident_first_kib", warm.first_kib, ""});
  figures.push_back({"resident_1000_lookups_kib", warm.thousand_kib, ""});
  AddLookupFigures(index, options, figures);
  return figures;
}

int Run(const Options& options) {
  if (!options.child_index.empty()) return PrintFirstLookup(options);
  const BenchFolder folder(options.folder);
  PrintFigures(Measure(folder.path() / "attune.db.index", options),
               {{"problems", options.problems}}, options.json);
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App app("Figures of the run-time index");
  app.add_option("--problems", options.problems, "Problems in the index")
      ->check(CLI::Range(int64_t{1000}, int64_t{10'000'000}))
      ->capture_default_str();
  app.add_option("--folder", options.folder, "Where to put the index for a while");
  app.add_flag("--json", options.json, "Print one JSON object");
  app.add_option("--child-index", options.child_index)->group("");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
