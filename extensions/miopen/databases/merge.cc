#include "extensions/miopen/databases/merge.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "attune/formats/miopen/conv_keys.h"

namespace attune::miopen {
namespace {

// The best time of each solver under each key of a perf-db, which several problems share.
class Times {
 public:
  explicit Times(const FindDb* db) {
    if (db == nullptr) return;
    for (const FindRecord& record : db->records) {
      const auto key = ReadFindKey(record.key);
      if (!key) continue;
      const std::string text = Text(PerfKeyOf(*key));
      for (const FindItem& item : record.items) {
        const auto [best, is_new] = best_ms_.try_emplace(text + '\n' + item.solver, item.time_ms);
        if (!is_new) best->second = std::min(best->second, item.time_ms);
      }
    }
  }

  std::optional<double> Of(const std::string& key, const std::string& solver) const {
    const auto found = best_ms_.find(key + '\n' + solver);
    if (found == best_ms_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::unordered_map<std::string, double> best_ms_;
};

class PerfMerger {
 public:
  explicit PerfMerger(std::span<const PerfSource> databases) {
    for (const PerfSource& source : databases) times_.emplace_back(source.times);
  }

  void Add(const PerfDb& db, size_t source) {
    merged_.db.form = db.form;
    for (const PerfRecord& record : db.records) {
      const auto [place, is_new] = place_of_.try_emplace(record.key, merged_.db.records.size());
      if (is_new) {
        merged_.db.records.push_back({record.key, {}, 0});
        merged_.sources.emplace_back();
      }
      for (const PerfItem& item : record.items) AddItem(item, source, place->second);
    }
  }

  MergedPerfDb Finish() { return std::move(merged_); }

 private:
  void AddItem(const PerfItem& item, size_t source, size_t place) {
    PerfRecord& record = merged_.db.records[place];
    std::vector<size_t>& sources = merged_.sources[place];
    const auto known =
        std::find_if(record.items.begin(), record.items.end(),
                     [&item](const PerfItem& other) { return other.solver == item.solver; });
    if (known == record.items.end()) {
      record.items.push_back(item);
      sources.push_back(source);
      return;
    }
    size_t& owner = sources[static_cast<size_t>(known - record.items.begin())];
    const auto standing_ms = times_[owner].Of(record.key, item.solver);
    const auto new_ms = times_[source].Of(record.key, item.solver);
    const bool is_faster =
        new_ms.has_value() && (!standing_ms.has_value() || *new_ms < *standing_ms);
    if (known->params == item.params) {
      // The best time of these parameters is the one to beat.
      if (is_faster) owner = source;
      return;
    }
    PerfConflict conflict{record.key, item.solver, owner, source, PerfReason::kFirst};
    if (standing_ms.has_value() && new_ms.has_value()) {
      conflict.reason = PerfReason::kFaster;
    } else if (standing_ms.has_value() || new_ms.has_value()) {
      conflict.reason = PerfReason::kTimed;
    }
    if (is_faster) {
      std::swap(conflict.taken, conflict.left);
      *known = item;
      owner = source;
    }
    merged_.conflicts.push_back(std::move(conflict));
  }

  std::vector<Times> times_;
  MergedPerfDb merged_;
  std::unordered_map<std::string, size_t> place_of_;
};

}  // namespace

MergedFindDb Merge(std::span<const FindDb* const> databases, Generation generation) {
  // Each item with its database; sorted by time when all are there.
  struct Candidate {
    const FindItem* item;
    size_t source;
  };
  std::vector<std::pair<std::string_view, std::vector<Candidate>>> records;
  std::unordered_map<std::string_view, size_t> place_of;
  for (size_t source = 0; source < databases.size(); ++source) {
    for (const FindRecord& record : databases[source]->records) {
      const auto [place, is_new] = place_of.try_emplace(record.key, records.size());
      if (is_new) records.push_back({record.key, {}});
      for (const FindItem& item : record.items) {
        records[place->second].second.push_back({&item, source});
      }
    }
  }
  MergedFindDb merged;
  for (auto& [key, candidates] : records) {
    std::stable_sort(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.item->time_ms < b.item->time_ms; });
    FindRecord all{std::string(key), {}, 0};
    for (const Candidate& candidate : candidates) all.items.push_back(*candidate.item);
    FindRecord record = Converted(all, generation);
    // The remaining items keep their order, and of equal solvers the first remains.
    std::vector<size_t>& sources = merged.sources.emplace_back();
    for (const FindItem& item : record.items) {
      const auto first =
          std::find_if(candidates.begin(), candidates.end(), [&item](const Candidate& candidate) {
            // Does not compare the algorithm: its name may have changed.
            return candidate.item->solver == item.solver && candidate.item->time == item.time &&
                   candidate.item->workspace_bytes == item.workspace_bytes;
          });
      sources.push_back(first->source);
    }
    merged.db.records.push_back(std::move(record));
  }
  return merged;
}

MergedPerfDb Merge(std::span<const PerfSource> databases) {
  PerfMerger merger(databases);
  for (size_t i = 0; i < databases.size(); ++i) merger.Add(*databases[i].db, i);
  return merger.Finish();
}

}  // namespace attune::miopen
