// Gathers choices, from an old index or a store, and makes an index of them. The same choices give
// the same bytes in any order. Private to this module.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/index/index_file.h"
#include "attune/index/index_image.h"
#include "attune/trial/choice_source.h"

namespace attune {

// Texts by number, each once.
class TextNumbers {
 public:
  uint32_t NumberOf(std::string_view text);
  const std::string& At(uint32_t number) const { return texts_[number]; }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // Elements never move; the keys below view them.
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

// Not thread-safe.
class IndexBuilder {
 public:
  // Adds the whole content of `file`, unparsed. A failure leaves half of it: start again without
  // the file.
  Status AddAll(const IndexFile& file);
  // Replaces an older choice of the same problem, target, environment and cache state, and changes
  // nothing if there is a newer one. kInternal if another problem has the same key.
  Status Add(const Problem& problem, const IndexedChoice& choice);

  int64_t problem_count() const { return static_cast<int64_t>(problems_.size()); }
  Result<std::string> Bytes(const IndexIdentity& identity) const;

 private:
  // Rows with numbers that index the members below, not a file.
  struct Choice {
    ChoiceRow row;
    std::vector<RankRow> ranks;
  };
  struct Entry {
    Fingerprint key;
    std::string text;
    Fingerprint family;  // Zeros if the operator has no neighbours.
    Position position = {};
    std::vector<Choice> choices;  // Newest first.
  };
  struct KeyHash {
    size_t operator()(const Fingerprint& key) const { return key.low; }
  };
  // Maps numbers of a file to numbers here.
  struct Renumbering;

  Result<Entry*> EntryOf(const Fingerprint& key, std::string_view text);
  static void AddChoice(Entry& entry, Choice choice);
  Status AddProblem(const IndexFile& file, const Renumbering& numbers, uint64_t number);
  Status AddFamilies(const IndexFile& file);

  void AddPlaces(IndexImage& image, Renumbering& numbers) const;
  void AddEntry(const Entry& entry, const Renumbering& numbers, IndexImage& image) const;
  void AddFamilies(const std::vector<const Entry*>& sorted, IndexImage& image) const;

  TextNumbers targets_;
  TextNumbers environments_;
  TextNumbers candidates_;
  std::deque<Entry> problems_;
  std::unordered_map<Fingerprint, Entry*, KeyHash> problem_by_key_;
};

}  // namespace attune
