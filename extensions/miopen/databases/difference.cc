#include "extensions/miopen/databases/difference.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

namespace attune::miopen {
namespace {

const FindItem& Quickest(const FindRecord& record) {
  return *std::min_element(
      record.items.begin(), record.items.end(),
      [](const FindItem& a, const FindItem& b) { return a.time_ms < b.time_ms; });
}

template <class Record>
std::unordered_map<std::string_view, const Record*> ByKey(const std::vector<Record>& records) {
  std::unordered_map<std::string_view, const Record*> by_key;
  for (const Record& record : records) by_key.emplace(record.key, &record);
  return by_key;
}

double Factor(const FindChange& change) {
  return std::max(change.before_ms / change.after_ms, change.after_ms / change.before_ms);
}

void LargestFirst(std::vector<FindChange>& changes) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const FindChange& a, const FindChange& b) { return Factor(a) > Factor(b); });
}

const PerfItem* ItemOf(const PerfRecord* record, std::string_view solver) {
  if (record == nullptr) return nullptr;
  const auto found = std::find_if(record->items.begin(), record->items.end(),
                                  [solver](const PerfItem& item) { return item.solver == solver; });
  return found == record->items.end() ? nullptr : &*found;
}

}  // namespace

FindDifference Difference(const FindDb& before, const FindDb& after) {
  FindDifference difference;
  const auto earlier = ByKey(before.records);
  const auto later = ByKey(after.records);
  double log_sum = 0;
  size_t common = 0;
  for (const FindRecord& record : after.records) {
    const auto found = earlier.find(record.key);
    if (found == earlier.end()) {
      difference.added.push_back(record.key);
      continue;
    }
    const FindItem* const old_answer = QuickestAnswer(*found->second);
    const FindItem* const new_answer = QuickestAnswer(record);
    if ((old_answer == nullptr) != (new_answer == nullptr)) {
      (old_answer == nullptr ? difference.added : difference.removed).push_back(record.key);
      continue;
    }
    // Items that MIOpen passes over are compared if both sides have nothing else.
    const FindItem& old_best = old_answer != nullptr ? *old_answer : Quickest(*found->second);
    const FindItem& new_best = new_answer != nullptr ? *new_answer : Quickest(record);
    const FindChange change{record.key, old_best.solver, new_best.solver, old_best.time_ms,
                            new_best.time_ms};
    ++common;
    log_sum += std::log(change.before_ms / change.after_ms);
    if (change.after_ms < change.before_ms) {
      difference.faster.push_back(change);
    } else if (change.after_ms > change.before_ms) {
      difference.slower.push_back(change);
    } else if (change.solver_before != change.solver_after) {
      difference.other_solver.push_back(change);
    } else {
      ++difference.unchanged;
    }
  }
  for (const FindRecord& record : before.records) {
    if (!later.contains(record.key)) difference.removed.push_back(record.key);
  }
  LargestFirst(difference.faster);
  LargestFirst(difference.slower);
  if (common > 0) difference.speedup = std::exp(log_sum / static_cast<double>(common));
  return difference;
}

PerfDifference Difference(const PerfDb& before, const PerfDb& after) {
  PerfDifference difference;
  const auto earlier = ByKey(before.records);
  const auto later = ByKey(after.records);
  const auto find = [](const auto& by_key, std::string_view key) {
    const auto found = by_key.find(key);
    return found == by_key.end() ? nullptr : found->second;
  };
  for (const PerfRecord& record : after.records) {
    for (const PerfItem& item : record.items) {
      const PerfItem* const old = ItemOf(find(earlier, record.key), item.solver);
      if (old == nullptr) {
        difference.added.push_back({record.key, item.solver, "", item.params});
      } else if (old->params != item.params) {
        difference.changed.push_back({record.key, item.solver, old->params, item.params});
      } else {
        ++difference.unchanged;
      }
    }
  }
  for (const PerfRecord& record : before.records) {
    for (const PerfItem& item : record.items) {
      if (ItemOf(find(later, record.key), item.solver) != nullptr) continue;
      difference.removed.push_back({record.key, item.solver, item.params, ""});
    }
  }
  return difference;
}

}  // namespace attune::miopen
