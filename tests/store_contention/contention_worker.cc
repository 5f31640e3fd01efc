// A process to be killed: its threads append small sets to one store, and look problems up in the
// index. Lines on standard output, each by one write(): "set ID TRIALS" for each set that the store
// has acknowledged; "wait NS" for each wait for the write lock, less the time that the thread
// waited for a core meanwhile; "read NS" for each lookup.
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

namespace attune {
namespace {

constexpr size_t kTrialsPerSet = 4;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Say(const std::string& line) {
  // Shorter than what a pipe takes at once.
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
}

void NoteWriteLock(int64_t waited_ns) { Say(fmt::format("wait {}\n", waited_ns)); }

Status AppendSets(RecordStore& store, uint64_t seed, int count) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const MeasurementSet set = SampleSet(static_cast<int64_t>(random.Below(500)), i + 1, random);
    ATTUNE_RETURN_IF_ERROR(store.BeginSet(set));
    ATTUNE_RETURN_IF_ERROR(store.Append(set.id, SampleTrials(kTrialsPerSet, random)));
    ATTUNE_RETURN_IF_ERROR(store.FinishSet(set.id));
    Say(fmt::format("set {} {}\n", set.id, kTrialsPerSet));
  }
  return Status::Ok();
}

// As a run time does it: by the mapped file, which needs no lock.
void LookUp(const std::string& database, uint64_t seed) {
  const auto index = ChoiceIndex::Open(IndexPathOf(database));
  if (!index.ok()) return;
  const int64_t begin_ns = NowNs();
  (void)(*index)->Find(SampleProblem(static_cast<int64_t>(seed % 500)));
  Say(fmt::format("read {}\n", NowNs() - begin_ns));
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
      const Status appended = AppendSets(**store, own_seed, sets);
      if (!appended.ok()) std::fprintf(stderr, "%s\n", std::string(appended.message()).c_str());
      LookUp(database, own_seed);
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
