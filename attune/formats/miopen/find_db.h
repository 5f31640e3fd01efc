// Find-dbs: how long each solver takes for a problem, as text. docs/formats/miopen.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/formats/miopen/conv_words.h"
#include "attune/formats/miopen/finding.h"

namespace attune::miopen {

// The two forms that MIOpen's versions read and wrote: until 2023 one item for each algorithm with
// its best solver (kAlgorithms), since then one for each solver (kSolvers).
enum class Generation : uint8_t { kAlgorithms = 1, kSolvers = 2 };

struct FindItem {
  Generation generation = Generation::kSolvers;
  std::string solver;
  std::string time;    // Milliseconds, as in the file; reads as `time_ms`.
  double time_ms = 0;  // Positive and finite.
  int64_t workspace_bytes = 0;
  std::string algorithm;
  // The field behind the algorithm in kAlgorithms: once the key of a kernel cache, later
  // "<unused>".
  std::string cache_algorithm;
  std::string cache_key;

  friend bool operator==(const FindItem&, const FindItem&) = default;
};

struct FindRecord {
  std::string key;
  std::vector<FindItem> items;  // At least one; of one solver at most one.
  uint64_t line = 0;            // 1-based; 0 if it is from no file.
};

// In the order of the file, keys distinct.
struct FindDb {
  std::vector<FindRecord> records;
};

// Never fails as a whole: an item that is not credible is left out with a finding. One file may mix
// both generations. Takes \n and \r\n.
FindDb ReadFindDb(std::string_view content, Findings& findings);

// Why MIOpen passes over `item` of a record under a key of `direction`, the end of a sentence
// ("MIOpen has it no more"); empty if MIOpen can take it.
std::string WhyPassedOver(const FindItem& item, Direction direction);

// The quickest item that MIOpen does not pass over; null if there is none.
const FindItem* QuickestAnswer(const FindRecord& record);

// The same record in `generation`, items from the quickest on. In kAlgorithms only the best solver
// of each algorithm remains; MIOpen passes over it only if it passes over all of them. The quicker
// of two entries of one solver remains. An item of kSolvers without a known algorithm keeps its
// generation: MIOpen reads both in one file.
FindRecord Converted(const FindRecord& record, Generation generation);

// One line with its end, items from the quickest on, each in its own generation.
void AppendText(const FindRecord& record, std::string& text);
// As MIOpen's shipped files are: sorted by the bytes of the keys. Keys are distinct.
std::string Text(const FindDb& db);

}  // namespace attune::miopen
