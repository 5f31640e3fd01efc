#include "attune/index/index_builder.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "attune/index/point_tree.h"

namespace attune {
namespace {

constexpr Fingerprint kNoFamily{};

Fingerprint FamilyKeyOf(const Problem& problem) {
  const std::string family = FamilyOf(problem);
  return family.empty() ? kNoFamily : FingerprintOf(family);
}

// Where two choices compete.
auto PlaceOf(const ChoiceRow& row) { return std::tuple(row.target, row.environment, row.cache); }

// Numbers here for the texts of `table` of a file.
Result<std::vector<uint32_t>> Numbered(const IndexFile& file, Section table, TextNumbers& texts) {
  std::vector<uint32_t> numbers;
  for (uint64_t i = 0; i < file.Count(table); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string_view text, file.TextAt(table, i));
    numbers.push_back(texts.NumberOf(text));
  }
  return numbers;
}

Status Renumber(const IndexFile& file, Section section, const std::vector<uint32_t>& numbers,
                uint32_t& number) {
  if (number >= numbers.size()) return file.Damaged(section, number, "it is not there");
  number = numbers[number];
  return Status::Ok();
}

// Turns the used ones of `texts` into rows in the order of their bytes; returns the row of each.
std::vector<uint32_t> SortedRows(const TextNumbers& texts, const std::vector<bool>& used,
                                 IndexImage& image, std::vector<TextRow>& rows) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < texts.size(); ++i) {
    if (used[i]) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return texts.At(a) < texts.At(b); });
  std::vector<uint32_t> row_of(texts.size());
  for (const uint32_t number : order) {
    row_of[number] = static_cast<uint32_t>(rows.size());
    const std::string& text = texts.At(number);
    rows.push_back({image.AddText(text), static_cast<uint32_t>(text.size()), 0, 0});
  }
  return row_of;
}

}  // namespace

struct IndexBuilder::Renumbering {
  std::vector<uint32_t> targets;
  std::vector<uint32_t> environments;
  std::vector<uint32_t> candidates;
};

uint32_t TextNumbers::NumberOf(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  numbers_.emplace(texts_.emplace_back(text), number);
  return number;
}

Result<IndexBuilder::Entry*> IndexBuilder::EntryOf(const Fingerprint& key, std::string_view text) {
  const auto [found, is_new] = problem_by_key_.try_emplace(key, nullptr);
  if (is_new) {
    found->second = &problems_.emplace_back(Entry{key, std::string(text), kNoFamily, {}, {}});
  } else if (found->second->text != text) {
    return Internal(fmt::format("Problems '{}' and '{}' have the same key {}.", found->second->text,
                                text, key.ToHex()));
  }
  return found->second;
}

void IndexBuilder::AddChoice(Entry& entry, Choice choice) {
  std::vector<Choice>& choices = entry.choices;
  const auto same = std::find_if(choices.begin(), choices.end(), [&](const Choice& other) {
    return PlaceOf(other.row) == PlaceOf(choice.row);
  });
  if (same != choices.end()) {
    if (same->row.revision >= choice.row.revision) return;
    choices.erase(same);
  }
  const auto place = std::find_if(choices.begin(), choices.end(), [&](const Choice& other) {
    return other.row.revision < choice.row.revision;
  });
  choices.insert(place, std::move(choice));
  if (choices.size() > kMaxChoices) choices.pop_back();
}

Status IndexBuilder::Add(const Problem& problem, const IndexedChoice& choice) {
  const std::string text = Text(problem);
  ATTUNE_ASSIGN_OR_RETURN(Entry* const entry, EntryOf(FingerprintOf(text), text));
  entry->family = FamilyKeyOf(problem);
  entry->position = PositionOf(problem);
  Choice packed;
  packed.row.target = targets_.NumberOf(Text(*choice.target));
  packed.row.environment = environments_.NumberOf(Text(*choice.environment));
  packed.row.cache = static_cast<uint32_t>(choice.cache);
  packed.row.default_position = static_cast<uint32_t>(choice.default_position);
  packed.row.revision = choice.revision;
  packed.row.started_unix_ns = choice.started_unix_ns;
  packed.row.speedup = choice.speedup;
  packed.row.speedup_low = choice.speedup_low;
  packed.row.speedup_high = choice.speedup_high;
  packed.row.confidence = choice.confidence;
  for (const RankedCandidate& ranked : choice.ranking) {
    const uint32_t flags = ranked.fails_capture ? RankRow::kFailsCapture : 0;
    packed.ranks.push_back({candidates_.NumberOf(Text(ranked.candidate)), flags, ranked.median_ns,
                            ranked.workspace_bytes, ranked.build_ns, ranked.load_ns, 0});
  }
  AddChoice(*entry, std::move(packed));
  return Status::Ok();
}

Status IndexBuilder::AddAll(const IndexFile& file) {
  Renumbering numbers;
  ATTUNE_ASSIGN_OR_RETURN(numbers.targets, Numbered(file, Section::kTargets, targets_));
  ATTUNE_ASSIGN_OR_RETURN(numbers.environments,
                          Numbered(file, Section::kEnvironments, environments_));
  ATTUNE_ASSIGN_OR_RETURN(numbers.candidates, Numbered(file, Section::kCandidates, candidates_));
  problem_by_key_.reserve(file.Count(Section::kProblems));
  for (uint64_t i = 0; i < file.Count(Section::kProblems); ++i) {
    ATTUNE_RETURN_IF_ERROR(AddProblem(file, numbers, i));
  }
  return AddFamilies(file);
}

Status IndexBuilder::AddProblem(const IndexFile& file, const Renumbering& numbers,
                                uint64_t number) {
  ATTUNE_ASSIGN_OR_RETURN(const ProblemRow row, file.ProblemAt(number));
  ATTUNE_ASSIGN_OR_RETURN(const std::string_view text,
                          file.TextAt(row.text_offset, row.text_bytes));
  ATTUNE_ASSIGN_OR_RETURN(Entry * entry, EntryOf({row.key_high, row.key_low}, text));
  for (uint64_t i = 0; i < row.choice_count; ++i) {
    Choice choice;
    ATTUNE_ASSIGN_OR_RETURN(choice.row, file.ChoiceAt(uint64_t{row.first_choice} + i));
    ATTUNE_RETURN_IF_ERROR(Renumber(file, Section::kTargets, numbers.targets, choice.row.target));
    ATTUNE_RETURN_IF_ERROR(
        Renumber(file, Section::kEnvironments, numbers.environments, choice.row.environment));
    for (uint64_t rank = 0; rank < choice.row.rank_count; ++rank) {
      ATTUNE_ASSIGN_OR_RETURN(RankRow ranked,
                              file.At<RankRow>(uint64_t{choice.row.first_rank} + rank));
      ATTUNE_RETURN_IF_ERROR(
          Renumber(file, Section::kCandidates, numbers.candidates, ranked.candidate));
      choice.ranks.push_back(ranked);
    }
    AddChoice(*entry, std::move(choice));
  }
  return Status::Ok();
}

Status IndexBuilder::AddFamilies(const IndexFile& file) {
  for (uint64_t i = 0; i < file.Count(Section::kFamilies); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const FamilyRow family, file.At<FamilyRow>(i));
    for (uint64_t k = 0; k < family.point_count; ++k) {
      ATTUNE_ASSIGN_OR_RETURN(const PointRow point,
                              file.At<PointRow>(uint64_t{family.first_point} + k));
      ATTUNE_ASSIGN_OR_RETURN(const ProblemRow row, file.At<ProblemRow>(point.problem));
      Entry& entry = *problem_by_key_.at({row.key_high, row.key_low});
      entry.family = {family.key_high, family.key_low};
      entry.position = point.position;
    }
  }
  return Status::Ok();
}

void IndexBuilder::AddPlaces(IndexImage& image, Renumbering& numbers) const {
  std::vector<bool> targets(targets_.size());
  std::vector<bool> environments(environments_.size());
  std::vector<bool> candidates(candidates_.size());
  for (const Entry& entry : problems_) {
    for (const Choice& choice : entry.choices) {
      targets[choice.row.target] = true;
      environments[choice.row.environment] = true;
      for (const RankRow& rank : choice.ranks) candidates[rank.candidate] = true;
    }
  }
  numbers.targets = SortedRows(targets_, targets, image, image.targets);
  numbers.environments = SortedRows(environments_, environments, image, image.environments);
  numbers.candidates = SortedRows(candidates_, candidates, image, image.candidates);
}

void IndexBuilder::AddEntry(const Entry& entry, const Renumbering& numbers,
                            IndexImage& image) const {
  ProblemRow row;
  row.key_high = entry.key.high;
  row.key_low = entry.key.low;
  row.text_offset = image.AddText(entry.text);
  row.text_bytes = static_cast<uint32_t>(entry.text.size());
  row.first_choice = static_cast<uint32_t>(image.choices.size());
  row.choice_count = static_cast<uint32_t>(entry.choices.size());
  image.problems.push_back(row);
  for (const Choice& choice : entry.choices) {
    ChoiceRow& added = image.choices.emplace_back(choice.row);
    added.target = numbers.targets[added.target];
    added.environment = numbers.environments[added.environment];
    added.first_rank = static_cast<uint32_t>(image.ranks.size());
    added.rank_count = static_cast<uint32_t>(choice.ranks.size());
    for (const RankRow& rank : choice.ranks) {
      image.ranks.emplace_back(rank).candidate = numbers.candidates[rank.candidate];
    }
  }
}

void IndexBuilder::AddFamilies(const std::vector<const Entry*>& sorted, IndexImage& image) const {
  std::map<Fingerprint, std::vector<PointRow>> families;
  for (uint32_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i]->family == kNoFamily) continue;
    families[sorted[i]->family].push_back({sorted[i]->position, i, 0, 0});
  }
  for (auto& [key, points] : families) {
    ArrangeAsTree(points);
    image.families.push_back({key.high, key.low, static_cast<uint32_t>(image.points.size()),
                              static_cast<uint32_t>(points.size()), 0});
    image.points.insert(image.points.end(), points.begin(), points.end());
  }
}

Result<std::string> IndexBuilder::Bytes(const IndexIdentity& identity) const {
  std::vector<const Entry*> sorted;
  for (const Entry& entry : problems_) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(),
            [](const Entry* a, const Entry* b) { return a->key < b->key; });
  IndexImage image;
  Renumbering numbers;
  AddPlaces(image, numbers);
  for (const Entry* entry : sorted) AddEntry(*entry, numbers, image);
  AddFamilies(sorted, image);
  return image.Bytes(identity);
}

}  // namespace attune
