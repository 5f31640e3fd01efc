#include "attune/formats/miopen/perf_db.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "attune/formats/miopen/batch_norm_key.h"
#include "attune/formats/miopen/text_db.h"

namespace attune::miopen {
namespace {

// Returns an error with the reason if the key is not spelled as MIOpen spells it.
template <class Key>
Status CheckSpelling(const Parsed<Key>& key, std::string_view text) {
  if (!key) return ToStatus(key.error());
  if (Text(*key) == text) return Status::Ok();
  return InvalidArgument(fmt::format("MIOpen spells it '{}'", Text(*key)));
}

struct CheckedKey {
  Status spelling;
  std::string impossible;  // Why no problem has a correctly spelled key; or empty.
};

template <class Key>
CheckedKey Checked(const Parsed<Key>& key, std::string_view text) {
  Status spelling = CheckSpelling(key, text);
  return {spelling, spelling.ok() ? WhyImpossible(*key) : ""};
}

CheckedKey CheckKey(std::string_view text, PerfKeyForm form) {
  if (form == PerfKeyForm::kPerfKey) return Checked(ReadPerfKey(text), text);
  if (form == PerfKeyForm::kBatchNormKey) return Checked(ReadBatchNormKey(text), text);
  const auto key = ReadFindKey(text);
  Status spelling = CheckSpelling(key, text);
  if (!spelling.ok()) return {spelling, ""};
  const auto problem = ProblemOf(*key);
  const bool is_impossible = problem.status().code() == StatusCode::kInvalidArgument;
  return {spelling, is_impossible ? problem.error().message() : ""};
}

class PerfDbReader {
 public:
  // Without a form: one of convolutions.
  PerfDbReader(std::optional<PerfKeyForm> form, Findings& findings)
      : findings_(findings), is_form_known_(form.has_value()), keys_(findings) {
    db_.form = form.value_or(PerfKeyForm::kPerfKey);
  }

  void Add(const TextRecord& text) {
    // Keys of find-dbs have a '-' and the others have none.
    if (!is_form_known_ && db_.records.empty()) {
      db_.form =
          text.key.find('-') == text.key.npos ? PerfKeyForm::kPerfKey : PerfKeyForm::kFindKey;
    }
    keys_.CheckOrder(text);
    const CheckedKey key = CheckKey(text.key, db_.form);
    if (!key.spelling.ok()) {
      findings_.Add(FindingKind::kBadKey, text.line,
                    fmt::format("Key {}: {}", Quoted(text.key), key.spelling.message()));
      return;
    }
    if (!keys_.IsNew(text)) return;
    if (!key.impossible.empty()) {
      findings_.Add(FindingKind::kImpossibleProblem, text.line,
                    fmt::format("Key '{}': {}", text.key, key.impossible));
    }
    PerfRecord record{std::string(text.key), {}, text.line};
    for (const TextItem& item : text.items) AddItem(item, record);
    if (!record.items.empty()) db_.records.push_back(std::move(record));
  }

  PerfDb Finish() { return std::move(db_); }

 private:
  void AddItem(const TextItem& item, PerfRecord& record) {
    if (!AreParameters(item.values)) {
      findings_.Add(FindingKind::kBadItem, record.line,
                    fmt::format("{} of '{}': {} are no parameters.", Quoted(item.id), record.key,
                                Quoted(item.values)));
      return;
    }
    const bool is_known =
        std::any_of(record.items.begin(), record.items.end(),
                    [&item](const PerfItem& other) { return other.solver == item.id; });
    if (is_known) {
      findings_.Add(FindingKind::kDuplicateSolver, record.line,
                    fmt::format("{} is in '{}' before.", Quoted(item.id), record.key));
      return;
    }
    CheckName(item.id, record);
    record.items.push_back({std::string(item.id), std::string(item.values)});
  }

  void CheckName(std::string_view solver, const PerfRecord& record) {
    const std::string where = fmt::format("of '{}'", record.key);
    if (db_.form != PerfKeyForm::kBatchNormKey) {
      return CheckSolver(solver, record.line, where, findings_);
    }
    if (IsBatchNormSolver(solver)) return;
    findings_.Add(FindingKind::kUnknownSolver, record.line,
                  fmt::format("{} {}.", Quoted(solver), where));
  }

  Findings& findings_;
  bool is_form_known_;
  PerfDb db_;
  KeyWatch keys_;
};

// Adds items of new solvers to `record`; returns how many others differ from its own.
int64_t AddMissing(const std::vector<PerfItem>& items, PerfRecord& record) {
  int64_t others = 0;
  for (const PerfItem& item : items) {
    const auto standing =
        std::find_if(record.items.begin(), record.items.end(),
                     [&item](const PerfItem& other) { return other.solver == item.solver; });
    if (standing == record.items.end()) {
      record.items.push_back(item);
    } else if (standing->params != item.params) {
      ++others;
    }
  }
  return others;
}

PerfDb ReadText(std::string_view content, std::optional<PerfKeyForm> form, Findings& findings) {
  PerfDbReader reader(form, findings);
  ReadTextDb(content, findings, [&reader](const TextRecord& record) { reader.Add(record); });
  return reader.Finish();
}

}  // namespace

bool AreParameters(std::string_view params) {
  return !params.empty() && std::all_of(params.begin(), params.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != ';' && c != '=';
  });
}

PerfDb ReadPerfDb(std::string_view content, Findings& findings) {
  return ReadText(content, std::nullopt, findings);
}

PerfDb ReadBatchNormDb(std::string_view content, Findings& findings) {
  return ReadText(content, PerfKeyForm::kBatchNormKey, findings);
}

Result<ConvertedPerfDb> Converted(const PerfDb& db, PerfKeyForm form) {
  if (db.form == form) return ConvertedPerfDb{db, 0};
  if (db.form == PerfKeyForm::kBatchNormKey || form == PerfKeyForm::kBatchNormKey) {
    return Unsupported("Batch norms and convolutions have no key in common.");
  }
  if (form == PerfKeyForm::kFindKey) {
    return Unsupported(
        "A perf-db cannot be written under the keys of a find-db, as in *.cd.pdb.txt: its own lack "
        "the extents of the output and two layouts. Write it as *.db.txt or *.db instead.");
  }
  ConvertedPerfDb converted{{form, {}}, 0};
  std::vector<PerfRecord>& records = converted.db.records;
  std::unordered_map<std::string, size_t> place_of;
  for (const PerfRecord& record : db.records) {
    const auto key = ReadFindKey(record.key);
    if (!key) return InvalidArgument(fmt::format("Key '{}': {}", record.key, key.error().reason));
    const std::string text = Text(PerfKeyOf(*key));
    const auto [place, is_new] = place_of.try_emplace(text, records.size());
    if (is_new) records.push_back({text, {}, record.line});
    converted.other_parameters += AddMissing(record.items, records[place->second]);
  }
  return converted;
}

std::string Text(const PerfDb& db) {
  std::vector<const PerfRecord*> sorted;
  for (const PerfRecord& record : db.records) {
    if (!record.items.empty()) sorted.push_back(&record);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const PerfRecord* a, const PerfRecord* b) { return a->key < b->key; });
  std::string text;
  for (const PerfRecord* const record : sorted) {
    text += record->key;
    for (size_t i = 0; i < record->items.size(); ++i) {
      fmt::format_to(std::back_inserter(text), "{}{}:{}", i == 0 ? '=' : ';',
                     record->items[i].solver, record->items[i].params);
    }
    text += '\n';
  }
  return text;
}

}  // namespace attune::miopen
