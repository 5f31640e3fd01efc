// The tables, in the order of the migrations that make them.
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/never_destroyed.h"
#include "storage/sql/table.h"

namespace attune::sql {
namespace {

constexpr CellType kInteger = CellType::kInteger;
constexpr CellType kReal = CellType::kReal;
constexpr CellType kText = CellType::kText;
constexpr Column kChecksum{"checksum", kText};

std::string InsertSql(const Table& table) {
  std::string values;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    fmt::format_to(std::back_inserter(values), "{}:p{}", i == 0 ? "" : ", ", i);
  }
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name,
                     ColumnList(table, table.columns.size()), values);
}

std::string UpdateSql(const Table& table) {
  std::string sets;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    fmt::format_to(std::back_inserter(sets), "{}{} = :p{}", i == 0 ? "" : ", ",
                   table.columns[i].name, i);
  }
  return fmt::format("UPDATE {} SET {} WHERE id = :p{}", table.name, sets, table.columns.size());
}

Table MakeTable(std::string_view name, std::vector<Column> columns) {
  size_t checksum_column = 0;
  while (columns[checksum_column].name != kChecksum.name) ++checksum_column;
  Table table{name, std::move(columns), checksum_column, {}, {}};
  table.insert_sql = InsertSql(table);
  table.update_sql = UpdateSql(table);
  return table;
}

// A table of texts that are unique by their fingerprint.
Table MakeTextTable(std::string_view name) {
  return MakeTable(name, {{"id", kInteger}, {"key", kText}, {"content", kText}, kChecksum});
}

Table MakeProblemTable() {
  return MakeTable(
      "problem",
      {{"id", kInteger}, {"key", kText}, {"content", kText}, {"set_count", kInteger}, kChecksum});
}

// A table of lists of problems, and one that links such lists with problems.
Table MakeLabelTable(std::string_view name) {
  return MakeTable(name,
                   {{"id", kInteger}, {"label", kText}, {"problem_count", kInteger}, kChecksum});
}

Table MakeLinkTable(std::string_view name, std::string_view label_id) {
  return MakeTable(name, {{"id", kInteger},
                          {label_id, kInteger},
                          {"problem_id", kInteger},
                          {"weight", kInteger},
                          kChecksum});
}

}  // namespace

const Table& CounterTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("counter", {{"id", kInteger}, {"value", kInteger}, kChecksum}));
  return *table;
}

const Table& TargetTable() {
  static const NeverDestroyed<Table> table(MakeTextTable("target"));
  return *table;
}

const Table& EnvironmentTable() {
  static const NeverDestroyed<Table> table(MakeTextTable("environment"));
  return *table;
}

const Table& ProblemTable() {
  static const NeverDestroyed<Table> table(MakeProblemTable());
  return *table;
}

const Table& CandidateTable() {
  static const NeverDestroyed<Table> table(MakeTextTable("candidate"));
  return *table;
}

const Table& TagTable() {
  static const NeverDestroyed<Table> table(MakeLabelTable("tag"));
  return *table;
}

const Table& ProblemTagTable() {
  static const NeverDestroyed<Table> table(MakeLinkTable("problem_tag", "tag_id"));
  return *table;
}

const Table& NetworkTable() {
  static const NeverDestroyed<Table> table(MakeLabelTable("network"));
  return *table;
}

const Table& NetworkProblemTable() {
  static const NeverDestroyed<Table> table(MakeLinkTable("network_problem", "network_id"));
  return *table;
}

const Table& MeasurementSetTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("measurement_set", {{"id", kInteger},
                                    {"key", kText},
                                    {"problem_id", kInteger},
                                    {"target_id", kInteger},
                                    {"environment_id", kInteger},
                                    {"f32_flops", kReal},
                                    {"f64_flops", kReal},
                                    {"bytes_per_second", kReal},
                                    {"cache", kText},
                                    {"seed", kText},
                                    {"searcher", kText},
                                    {"measured_by", kText},
                                    {"attune_version", kText},
                                    {"started_unix_ns", kInteger},
                                    kChecksum}));
  return *table;
}

const Table& SetProgressTable() {
  static const NeverDestroyed<Table> table(MakeTable("set_progress", {{"id", kInteger},
                                                                      {"finished", kInteger},
                                                                      {"qualify_count", kInteger},
                                                                      {"screen_count", kInteger},
                                                                      {"final_count", kInteger},
                                                                      kChecksum}));
  return *table;
}

const Table& TrialTable() {
  constexpr Nullable kYes = Nullable::kYes;
  static const NeverDestroyed<Table> table(MakeTable("trial", {{"id", kInteger},
                                                               {"set_id", kInteger},
                                                               {"candidate_id", kInteger},
                                                               {"role", kText},
                                                               {"is_default", kInteger},
                                                               {"failure_kind", kText, kYes},
                                                               {"failure_phase", kText, kYes},
                                                               {"failure_message", kText, kYes},
                                                               {"median_ns", kReal, kYes},
                                                               {"low_ns", kReal, kYes},
                                                               {"high_ns", kReal, kYes},
                                                               {"confidence", kReal, kYes},
                                                               {"cache", kText, kYes},
                                                               {"build_ns", kInteger},
                                                               {"load_ns", kInteger},
                                                               {"workspace_bytes", kInteger},
                                                               {"max_error", kReal, kYes},
                                                               {"appended_unix_ns", kInteger},
                                                               kChecksum,
                                                               {"samples", kText, kYes}}));
  return *table;
}

const Table& StoreIdentityTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("store_identity", {{"id", kInteger}, {"database_id", kText}, kChecksum}));
  return *table;
}

const Table& FinishedSetTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("finished_set", {{"id", kInteger}, {"set_id", kInteger}, kChecksum}));
  return *table;
}

const Table& BoundSamplesTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("bound_samples", {{"id", kInteger}, {"after_revision", kInteger}, kChecksum}));
  return *table;
}

const Table& SetConditionsTable() {
  constexpr Nullable kYes = Nullable::kYes;
  static const NeverDestroyed<Table> table(
      MakeTable("set_conditions", {{"id", kInteger},
                                   {"before_compute_clock_mhz", kInteger, kYes},
                                   {"before_memory_clock_mhz", kInteger, kYes},
                                   {"before_power_w", kReal, kYes},
                                   {"before_power_limit_w", kReal, kYes},
                                   {"before_temperature_c", kInteger, kYes},
                                   {"before_clock_reasons", kText, kYes},
                                   {"after_compute_clock_mhz", kInteger, kYes},
                                   {"after_memory_clock_mhz", kInteger, kYes},
                                   {"after_power_w", kReal, kYes},
                                   {"after_power_limit_w", kReal, kYes},
                                   {"after_temperature_c", kInteger, kYes},
                                   {"after_clock_reasons", kText, kYes},
                                   kChecksum}));
  return *table;
}

const Table& KeptConditionsTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("kept_conditions", {{"id", kInteger}, {"after_revision", kInteger}, kChecksum}));
  return *table;
}

const Table& ConditionCountTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("condition_count", {{"id", kInteger}, {"value", kInteger}, kChecksum}));
  return *table;
}

const Table& ImportedFileTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("imported_file", {{"id", kInteger},
                                  {"kind", kText},
                                  {"target", kText},
                                  {"content_key", kText},
                                  {"file_name", kText},
                                  {"imported_by", kText},
                                  {"imported_unix_ns", kInteger},
                                  {"revision", kInteger},
                                  {"line_count", kInteger},
                                  kChecksum}));
  return *table;
}

const Table& ImportedLineTable() {
  static const NeverDestroyed<Table> table(MakeTable("imported_line", {{"id", kInteger},
                                                                       {"file_id", kInteger},
                                                                       {"key", kText},
                                                                       {"number", kInteger},
                                                                       {"content", kText},
                                                                       kChecksum}));
  return *table;
}

const Table& SessionTable() {
  static const NeverDestroyed<Table> table(MakeTable("session", {{"id", kInteger},
                                                                 {"name", kText},
                                                                 {"reason", kText},
                                                                 {"backend", kText},
                                                                 {"arch", kText},
                                                                 {"created_by", kText},
                                                                 {"created_unix_ns", kInteger},
                                                                 kChecksum}));
  return *table;
}

const Table& SessionStateTable() {
  constexpr Nullable kYes = Nullable::kYes;
  static const NeverDestroyed<Table> table(
      MakeTable("session_state", {{"id", kInteger},
                                  {"target_id", kInteger, kYes},
                                  {"environment_id", kInteger, kYes},
                                  {"closed_by", kText},
                                  {"closed_unix_ns", kInteger},
                                  {"generation", kInteger},
                                  {"tag_count", kInteger},
                                  {"set_count", kInteger},
                                  {"job_count", kInteger},
                                  {"solver_count", kInteger},
                                  {"applicability_count", kInteger},
                                  kChecksum}));
  return *table;
}

const Table& SessionTagTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("session_tag",
                {{"id", kInteger}, {"session_id", kInteger}, {"tag_id", kInteger}, kChecksum}));
  return *table;
}

const Table& SessionSetTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("session_set", {{"id", kInteger}, {"session_id", kInteger}, kChecksum}));
  return *table;
}

const Table& SessionSolverTable() {
  static const NeverDestroyed<Table> table(MakeTable("session_solver", {{"id", kInteger},
                                                                        {"session_id", kInteger},
                                                                        {"generation", kInteger},
                                                                        {"solver", kText},
                                                                        {"operator", kText},
                                                                        {"dynamic", kInteger},
                                                                        {"tunable", kInteger},
                                                                        {"compiles", kInteger},
                                                                        {"code", kText},
                                                                        kChecksum}));
  return *table;
}

const Table& ApplicabilityTable() {
  static const NeverDestroyed<Table> table(MakeTable("applicability", {{"id", kInteger},
                                                                       {"session_id", kInteger},
                                                                       {"problem_id", kInteger},
                                                                       {"generation", kInteger},
                                                                       {"solvers", kText},
                                                                       kChecksum}));
  return *table;
}

const Table& JobTable() {
  static const NeverDestroyed<Table> table(MakeTable("job", {{"id", kInteger},
                                                             {"session_id", kInteger},
                                                             {"problem_id", kInteger},
                                                             {"solver", kText},
                                                             {"step", kText},
                                                             {"priority", kInteger},
                                                             {"reason", kText},
                                                             {"loaded_by", kText},
                                                             {"loaded_unix_ns", kInteger},
                                                             {"state", kText},
                                                             {"ready", kInteger},
                                                             {"attempts", kInteger},
                                                             {"lost", kInteger},
                                                             {"owner", kText},
                                                             {"deadline_unix_ns", kInteger},
                                                             {"changed_unix_ns", kInteger},
                                                             {"entry_id", kInteger},
                                                             {"set_key", kText},
                                                             {"error_kind", kText},
                                                             {"error_text", kText},
                                                             kChecksum}));
  return *table;
}

const Table& GoldenTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("golden", {{"id", kInteger},
                           {"name", kText},
                           {"base_id", kInteger, Nullable::kYes},
                           {"created_by", kText},
                           {"created_unix_ns", kInteger},
                           kChecksum}));
  return *table;
}

const Table& GoldenStateTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("golden_state", {{"id", kInteger},
                                 {"approved_by", kText},
                                 {"approved_unix_ns", kInteger},
                                 {"withdrawn_by", kText},
                                 {"withdrawn_unix_ns", kInteger},
                                 {"withdrawn_because", kText},
                                 {"entry_count", kInteger},
                                 kChecksum}));
  return *table;
}

const Table& GoldenEntryTable() {
  static const NeverDestroyed<Table> table(MakeTable("golden_entry", {{"id", kInteger},
                                                                      {"golden_id", kInteger},
                                                                      {"problem_id", kInteger},
                                                                      {"target_id", kInteger},
                                                                      {"candidate_id", kInteger},
                                                                      {"set_key", kText},
                                                                      {"session", kText},
                                                                      {"median_ns", kReal},
                                                                      {"low_ns", kReal},
                                                                      {"high_ns", kReal},
                                                                      {"reason", kText},
                                                                      {"added_by", kText},
                                                                      {"added_unix_ns", kInteger},
                                                                      kChecksum}));
  return *table;
}

const Table& FigureTable() {
  static const NeverDestroyed<Table> table(MakeTable("figure", {{"id", kInteger},
                                                                {"set_id", kInteger},
                                                                {"candidate_id", kInteger},
                                                                {"role", kText},
                                                                {"name", kText},
                                                                {"unit", kText},
                                                                {"direction", kText},
                                                                {"value", kReal},
                                                                {"low", kReal},
                                                                {"high", kReal},
                                                                {"confidence", kReal},
                                                                {"samples", kInteger},
                                                                kChecksum}));
  return *table;
}

const Table& FigureCountTable() {
  static const NeverDestroyed<Table> table(
      MakeTable("figure_count", {{"id", kInteger}, {"value", kInteger}, kChecksum}));
  return *table;
}

const Table& WorkerTable() {
  static const NeverDestroyed<Table> table(MakeTable("worker", {{"id", kInteger},
                                                                {"name", kText},
                                                                {"owner", kText},
                                                                {"target", kText},
                                                                {"attune_version", kText},
                                                                {"began_unix_ns", kInteger},
                                                                {"beat_unix_ns", kInteger},
                                                                {"ended_unix_ns", kInteger},
                                                                {"doing", kText},
                                                                {"done_count", kInteger},
                                                                {"failed_count", kInteger},
                                                                kChecksum}));
  return *table;
}

const Table& PublisherTable() {
  static const NeverDestroyed<Table> table(MakeTable("publisher", {{"id", kInteger},
                                                                   {"key", kText},
                                                                   {"owner", kText},
                                                                   {"deadline_unix_ns", kInteger},
                                                                   kChecksum}));
  return *table;
}

const Table& ArtifactTable() {
  static const NeverDestroyed<Table> table(MakeTable("artifact", {{"id", kInteger},
                                                                  {"key", kText},
                                                                  {"size", kInteger},
                                                                  {"packing", kText},
                                                                  {"packed_size", kInteger},
                                                                  {"chunk_count", kInteger},
                                                                  {"added_by", kText},
                                                                  {"added_unix_ns", kInteger},
                                                                  kChecksum}));
  return *table;
}

const Table& ArtifactChunkTable() {
  static const NeverDestroyed<Table> table(MakeTable("artifact_chunk", {{"id", kInteger},
                                                                        {"artifact_id", kInteger},
                                                                        {"number", kInteger},
                                                                        {"content", kText},
                                                                        kChecksum}));
  return *table;
}

const Table& BuiltKernelTable() {
  static const NeverDestroyed<Table> table(MakeTable(
      "built_kernel", {{"id", kInteger}, {"key", kText}, {"artifact_id", kInteger}, kChecksum}));
  return *table;
}

const Table& TimelineTable() {
  static const NeverDestroyed<Table> table(MakeTable(
      "timeline", {{"id", kInteger}, {"set_id", kInteger}, {"content", kText}, kChecksum}));
  return *table;
}

std::vector<const Table*> AllTables() {
  return {&CounterTable(),        &TargetTable(),         &EnvironmentTable(),
          &ProblemTable(),        &CandidateTable(),      &TagTable(),
          &ProblemTagTable(),     &MeasurementSetTable(), &SetProgressTable(),
          &TrialTable(),          &StoreIdentityTable(),  &FinishedSetTable(),
          &BoundSamplesTable(),   &SetConditionsTable(),  &KeptConditionsTable(),
          &ConditionCountTable(), &ImportedFileTable(),   &ImportedLineTable(),
          &NetworkTable(),        &NetworkProblemTable(), &SessionTable(),
          &SessionStateTable(),   &SessionTagTable(),     &SessionSetTable(),
          &SessionSolverTable(),  &ApplicabilityTable(),  &JobTable(),
          &GoldenTable(),         &GoldenStateTable(),    &GoldenEntryTable(),
          &FigureTable(),         &FigureCountTable(),    &WorkerTable(),
          &PublisherTable(),      &ArtifactTable(),       &ArtifactChunkTable(),
          &BuiltKernelTable(),    &TimelineTable()};
}

}  // namespace attune::sql
