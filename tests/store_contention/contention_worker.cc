// A process to be killed: its threads append small sets to one store, and look a problem up in the
// index after each. Lines on standard output, each by one write(): "set ID TRIALS" for each set
// that the store has acknowledged; "wait NS" for each wait for the write lock, waits for a core
// included; "read NS FOUND" for each lookup, FOUND being the number of choices.
//
//   contention_worker DATABASE SEED THREADS SETS_PER_THREAD
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "attune/index/index_writer.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/store_contention/indexed_problems.h"

namespace attune {
namespace {

constexpr size_t kTrialsPerSet = 4;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Say(const std::string& line) {
  // Short enough for a pipe to take it at once.
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
}

void NoteWriteLock(int64_t waited_ns) { Say(fmt::format("wait {}\n", waited_ns)); }

// As a runtime does it: by the mapped file, which needs no lock.
Status LookUp(const std::string& database, int64_t problem_index) {
  const int64_t begin_ns = NowNs();
  ATTUNE_ASSIGN_OR_RETURN(const auto index, ChoiceIndex::Open(IndexPathOf(database)));
  ATTUNE_ASSIGN_OR_RETURN(const auto choices, index->Find(SampleProblem(problem_index)));
  Say(fmt::format("read {} {}\n", NowNs() - begin_ns, choices.size()));
  return Status::Ok();
}

Status AppendSets(RecordStore& store, const std::string& database, uint64_t seed, int count) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const MeasurementSet set = SampleSet(static_cast<int64_t>(random.Below(500)), i + 1, random);
    ATTUNE_RETURN_IF_ERROR(store.BeginSet(set));
    ATTUNE_RETURN_IF_ERROR(store.Append(set.id, SampleTrials(kTrialsPerSet, random)));
    ATTUNE_RETURN_IF_ERROR(store.FinishSet(set.id));
    Say(fmt::format("set {} {}\n", set.id, kTrialsPerSet));
    ATTUNE_RETURN_IF_ERROR(LookUp(database, static_cast<int64_t>(random.Below(kIndexedProblems))));
  }
  return Status::Ok();
}

int Work(const std::string& database, uint64_t seed, int threads, int sets) {
  SqlStoreOptions options;
  options.busy_timeout = std::chrono::seconds(60);
  options.on_write_lock = NoteWriteLock;
  const auto store = OpenSqlStore(database, options);
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.error().message().c_str());
    return 1;
  }
  std::vector<std::thread> writers;
  for (int thread = 0; thread < threads; ++thread) {
    writers.emplace_back([&, thread] {
      const uint64_t own_seed = seed * 1'000 + static_cast<uint64_t>(thread);
      const Status appended = AppendSets(**store, database, own_seed, sets);
      if (!appended.ok()) std::fprintf(stderr, "%s\n", std::string(appended.message()).c_str());
    });
  }
  for (std::thread& writer : writers) writer.join();
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  return attune::Work(argv[1], std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]),
                      std::atoi(argv[4]));
}
