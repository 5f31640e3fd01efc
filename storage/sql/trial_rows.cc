#include "storage/sql/trial_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "storage/sql/boundary_row.h"
#include "storage/sql/free_text.h"
#include "storage/sql/sample_text.h"

namespace attune::sql {
namespace {

enum TrialColumn : size_t {
  kId,
  kSetId,
  kCandidateId,
  kRole,
  kIsDefault,
  kFailureKind,
  kFailurePhase,
  kFailureMessage,
  kMedianNs,
  kLowNs,
  kHighNs,
  kConfidence,
  kCache,
  kBuildNs,
  kLoadNs,
  kWorkspaceBytes,
  kMaxError,
  kAppendedUnixNs,
  kChecksum,
  kSamples,
};

// Without a kind, the message is why a launch cannot be captured.
void WriteFailure(const Trial& trial, RowWriter& writer) {
  const Failure* failure = trial.failure();
  if (failure == nullptr) {
    writer.Null().Null();
    if (trial.capture_failure.empty()) {
      writer.Null();
    } else {
      writer.Text(FreeText(trial.capture_failure));
    }
    return;
  }
  writer.Text(Name(failure->kind)).Text(Name(failure->phase)).Text(FreeText(failure->message));
}

void WriteTime(double time_ns, RowWriter& writer) {
  if (time_ns > 0) {
    writer.Real(time_ns);
  } else {
    writer.Null();
  }
}

// Without a median, the lower end holds the quick time and the upper end the verification time:
// readers that do not know them check the median first.
void WriteMeasurement(const Measurement* measurement, const QualifyingTimes& qualifying,
                      RowWriter& writer) {
  if (measurement == nullptr) {
    writer.Null();
    WriteTime(qualifying.quick_ns, writer);
    WriteTime(static_cast<double>(qualifying.verify_ns), writer);
    writer.Null().Null();
    return;
  }
  writer.Real(measurement->median_ns)
      .Real(measurement->low_ns)
      .Real(measurement->high_ns)
      .Real(measurement->confidence)
      .Text(Name(measurement->cache));
}

Status Damaged(std::span<const Cell> row, size_t column, std::string_view why) {
  return DamagedCell(TrialTable(), row, column, why);
}

Result<std::string> ParseMessage(std::span<const Cell> row) {
  if (row[kFailureMessage].is_null) return std::string();
  auto message = FromFreeText(row[kFailureMessage].text);
  if (!message.has_value()) return Damaged(row, kFailureMessage, "which is no escaped text");
  return std::move(*message);
}

Result<Failure> ParseFailure(std::span<const Cell> row) {
  const auto kind = ParseFailureKind(row[kFailureKind].text);
  if (!kind.has_value()) return Damaged(row, kFailureKind, "which is no kind of failure");
  const auto phase = ParsePhase(row[kFailurePhase].text);
  if (!phase.has_value()) return Damaged(row, kFailurePhase, "which is no phase");
  ATTUNE_ASSIGN_OR_RETURN(std::string message, ParseMessage(row));
  return Failure{*kind, *phase, std::move(message)};
}

// `column` of a trial without a measurement; 0 if it is empty.
Result<double> ParseQualifyingTime(std::span<const Cell> row, size_t column) {
  if (!row[kMedianNs].is_null || row[column].is_null) return 0.0;
  const double time_ns = row[column].real;
  // Below 2^63, so that it is a number of nanoseconds.
  if (time_ns > 0 && time_ns < 0x1p63) return time_ns;
  return Damaged(row, column, "which is no time");
}

Result<Measurement> ParseMeasurement(std::span<const Cell> row) {
  for (const size_t column : {kMedianNs, kLowNs, kHighNs, kConfidence}) {
    if (row[column].is_null || !std::isfinite(row[column].real) || row[column].real < 0) {
      return Damaged(row, column, "which is no time nor a probability");
    }
  }
  Measurement measurement;
  measurement.median_ns = row[kMedianNs].real;
  measurement.low_ns = row[kLowNs].real;
  measurement.high_ns = row[kHighNs].real;
  measurement.confidence = row[kConfidence].real;
  const auto cache = ParseCacheState(row[kCache].text);
  if (!cache.has_value()) return Damaged(row, kCache, "which is no cache state");
  measurement.cache = *cache;
  return measurement;
}

std::string Where(const std::vector<TrialRole>& roles) {
  if (roles.empty()) return "set_id = :p0 ORDER BY id";
  std::string names;
  for (size_t i = 0; i < roles.size(); ++i) {
    names += fmt::format("{}:p{}", i == 0 ? "" : ", ", i + 1);
  }
  return fmt::format("set_id = :p0 AND role IN ({}) ORDER BY id", names);
}

int64_t ExpectedCount(const RoleCounts& counts, const std::vector<TrialRole>& roles) {
  int64_t count = 0;
  for (const TrialRole role : {TrialRole::kQualify, TrialRole::kScreen, TrialRole::kFinal}) {
    const bool is_wanted =
        roles.empty() || std::find(roles.begin(), roles.end(), role) != roles.end();
    if (is_wanted) count += counts.Of(role);
  }
  return count;
}

}  // namespace

Row TrialRow(const TrialPlace& place, const Trial& trial, const QualifyingTimes& qualifying) {
  const Measurement* measurement = trial.measurement();
  RowWriter writer(TrialTable());
  writer.Integer(place.id)
      .Integer(place.set_id)
      .Integer(place.candidate_id)
      .Text(Name(trial.role))
      .Integer(trial.is_default ? 1 : 0);
  WriteFailure(trial, writer);
  WriteMeasurement(measurement, qualifying, writer);
  writer.Integer(trial.build_ns).Integer(trial.load_ns).Integer(trial.workspace_bytes);
  if (std::isfinite(trial.max_error)) {
    writer.Real(trial.max_error);
  } else {
    writer.Null();
  }
  writer.Integer(place.appended_unix_ns).Checksum();
  if (measurement == nullptr) return writer.Null().Take();
  return writer.Text(SampleText(measurement->samples_ns, writer.checksum())).Take();
}

TrialReader::TrialReader() : candidates_(CandidateTable(), ParseCandidate) {}

Result<std::vector<Record>> TrialReader::Read(Connection& connection, const SetProgress& progress,
                                              const TrialSelection& selection) {
  if (selection.with_samples && !last_unbound_revision_.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(last_unbound_revision_, ReadNumber(connection, BoundSamplesTable()));
  }
  Row parameters = {IntegerCell(progress.set_id)};
  for (const TrialRole role : selection.roles) parameters.push_back(TextCell(Name(role)));
  const std::string where = Where(selection.roles);
  std::vector<Record> records;
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection,
                                  {TrialTable(), where, parameters, selection.with_samples},
                                  [&](std::span<const Cell> row) -> Status {
                                    ATTUNE_ASSIGN_OR_RETURN(Record record, Parse(connection, row));
                                    records.push_back(std::move(record));
                                    return Status::Ok();
                                  }));
  const int64_t expected = ExpectedCount(progress.counts, selection.roles);
  if (static_cast<int64_t>(records.size()) == expected) return records;
  return DataLoss(fmt::format(
      "Row {} of table set_progress of database '{}' counts {} trials, but table trial gave {}.",
      progress.set_id, connection.name(), expected, records.size()));
}

Result<Record> TrialReader::Parse(Connection& connection, std::span<const Cell> row) {
  Record record;
  record.revision = row[kId].integer;
  record.appended_unix_ns = row[kAppendedUnixNs].integer;
  Trial& trial = record.trial;
  ATTUNE_ASSIGN_OR_RETURN(trial.candidate, candidates_.At(connection, row[kCandidateId].integer));
  const auto role = ParseTrialRole(row[kRole].text);
  if (!role.has_value()) return Damaged(row, kRole, "which is no role");
  trial.role = *role;
  trial.is_default = row[kIsDefault].integer != 0;
  if (!row[kFailureKind].is_null) {
    ATTUNE_ASSIGN_OR_RETURN(trial.outcome, ParseFailure(row));
  } else {
    ATTUNE_ASSIGN_OR_RETURN(trial.capture_failure, ParseMessage(row));
  }
  if (trial.failure() == nullptr && !row[kMedianNs].is_null) {
    ATTUNE_ASSIGN_OR_RETURN(Measurement measurement, ParseMeasurement(row));
    ATTUNE_ASSIGN_OR_RETURN(measurement.samples_ns, ParseSamples(row));
    trial.outcome = std::move(measurement);
  }
  ATTUNE_ASSIGN_OR_RETURN(record.quick_ns, ParseQualifyingTime(row, kLowNs));
  ATTUNE_ASSIGN_OR_RETURN(const double verify_ns, ParseQualifyingTime(row, kHighNs));
  record.verify_ns = static_cast<int64_t>(verify_ns);
  trial.build_ns = row[kBuildNs].integer;
  trial.load_ns = row[kLoadNs].integer;
  trial.workspace_bytes = row[kWorkspaceBytes].integer;
  trial.max_error =
      row[kMaxError].is_null ? std::numeric_limits<double>::infinity() : row[kMaxError].real;
  return record;
}

Result<std::vector<double>> TrialReader::ParseSamples(std::span<const Cell> row) const {
  if (row.size() <= kSamples) return std::vector<double>();
  if (row[kSamples].is_null) return Damaged(row, kSamples, "beside a measurement");
  const std::string& text = row[kSamples].text;
  const bool is_bound =
      last_unbound_revision_.has_value() && row[kId].integer > *last_unbound_revision_;
  Result<std::vector<double>> samples =
      is_bound ? ParseSampleText(text, *Fingerprint::FromHex(row[kChecksum].text))
               : ParseUnboundSampleText(text);
  if (!samples.ok()) return Damaged(row, kSamples, samples.error().message());
  return samples;
}

}  // namespace attune::sql
