// A process to be killed: appends batches to a set, starting where an earlier one ended, and writes
// one byte to standard output for each batch that the store has acknowledged.
//
//   writer DATABASE SET_SEED
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "storage/sql/sql_store.h"
#include "tests/store_crash/batches.h"

namespace attune {
namespace {

Status Write(const std::string& database, uint64_t set_seed) {
  ATTUNE_ASSIGN_OR_RETURN(const auto store, OpenSqlStore(database));
  const MeasurementSet set = CrashSet(set_seed);
  ATTUNE_RETURN_IF_ERROR(store->BeginSet(set));
  ATTUNE_ASSIGN_OR_RETURN(const size_t done, CompleteBatches(*store, set));
  for (size_t batch = done;; ++batch) {
    ATTUNE_RETURN_IF_ERROR(store->Append(set.id, CrashBatch(set_seed, batch)));
    if (::write(STDOUT_FILENO, "+", 1) != 1) return Internal("The reader has gone.");
  }
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const attune::Status status = attune::Write(argv[1], std::strtoull(argv[2], nullptr, 10));
  std::fprintf(stderr, "writer: %s\n", status.ToString().c_str());
  return 1;
}
