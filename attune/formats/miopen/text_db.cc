#include "attune/formats/miopen/text_db.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/formats/miopen/solver_catalogue.h"
#include "attune/problem/text_error.h"

namespace attune::miopen {
namespace {

bool IsPrintable(char byte) { return byte >= ' ' && byte <= '~'; }

class RecordReader {
 public:
  explicit RecordReader(Findings& findings) : findings_(findings) {}

  // Returns true if `record_` holds a record.
  bool Read(std::string_view line) {
    ++record_.line;
    if (line.empty()) return false;
    if (line.size() > kMaxRecordBytes) {
      return Bad(fmt::format("The line has {} bytes; records have at most {}.", line.size(),
                             kMaxRecordBytes));
    }
    const auto strange = std::find_if_not(line.begin(), line.end(), IsPrintable);
    if (strange != line.end()) {
      return Bad(fmt::format("Column {} is {}, no printable ASCII.", strange - line.begin() + 1,
                             Quoted({&*strange, 1})));
    }
    const size_t equals = line.find('=');
    if (equals == line.npos || equals == 0) {
      return Bad(fmt::format("There is no key before a '=': {}.", Quoted(line)));
    }
    record_.key = line.substr(0, equals);
    record_.items.clear();
    ReadItems(line.substr(equals + 1));
    return !record_.items.empty() ||
           Bad(fmt::format("Record {} has no item.", Quoted(record_.key)));
  }

  const TextRecord& record() const { return record_; }

 private:
  bool Bad(std::string reason) {
    findings_.Add(FindingKind::kBadLine, record_.line, std::move(reason));
    return false;
  }

  void ReadItems(std::string_view payload) {
    while (!payload.empty()) {
      const size_t end = std::min(payload.find(';'), payload.size());
      ReadItem(payload.substr(0, end));
      payload.remove_prefix(std::min(end + 1, payload.size()));
    }
  }

  void ReadItem(std::string_view item) {
    const size_t colon = item.find(':');
    if (colon == item.npos || colon == 0) {
      findings_.Add(FindingKind::kBadItem, record_.line,
                    fmt::format("There is no name before a ':' in {}.", Quoted(item)));
      return;
    }
    const std::string_view id = item.substr(0, colon);
    // Another form would end the key there: an item of one form would be two fields of another.
    if (id.find_first_of(",=") != id.npos) {
      findings_.Add(FindingKind::kBadItem, record_.line,
                    fmt::format("Name {} has a ',' or a '='.", Quoted(id)));
      return;
    }
    record_.items.push_back({id, item.substr(colon + 1)});
  }

  Findings& findings_;
  TextRecord record_;
};

}  // namespace

void KeyWatch::CheckOrder(const TextRecord& record) {
  if (record.key < last_key_) {
    findings_.Add(FindingKind::kUnsortedKeys, record.line,
                  fmt::format("Key '{}' belongs before '{}'.", record.key, last_key_));
  }
  last_key_ = record.key;
}

bool KeyWatch::IsNew(const TextRecord& record) {
  if (seen_.insert(std::string(record.key)).second) return true;
  findings_.Add(FindingKind::kDuplicateKey, record.line,
                fmt::format("Key '{}' stands further up.", record.key));
  return false;
}

void CheckSolver(std::string_view solver, uint64_t line, std::string_view where,
                 Findings& findings) {
  const SolverFacts* const known = FindSolver(solver);
  if (known != nullptr && !known->is_removed) return;
  findings.Add(known == nullptr ? FindingKind::kUnknownSolver : FindingKind::kRemovedSolver, line,
               fmt::format("{} {}.", Quoted(solver), where));
}

void ReadTextDb(std::string_view content, Findings& findings,
                const std::function<void(const TextRecord&)>& visit) {
  RecordReader reader(findings);
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (reader.Read(line)) visit(reader.record());
    content.remove_prefix(std::min(end + 1, content.size()));
  }
}

}  // namespace attune::miopen
