#include "attune/index/choice_index.h"

#include <cmath>
#include <mutex>

#include "attune/index/index_file.h"
#include "attune/index/neighbour.h"
#include "attune/index/point_tree.h"

namespace attune {
namespace {

// The texts of one table, each parsed on first use and then shared. Thread-safe: two threads wait
// for each other only if both want the same text for the first time.
template <class T>
class SharedTexts {
 public:
  using Parse = Result<T> (*)(std::string_view);
  SharedTexts(const IndexFile& file, Section table, Parse parse)
      : file_(file), table_(table), parse_(parse), slots_(file.Count(table)) {}

  Result<std::shared_ptr<const T>> At(uint32_t number) {
    if (number >= slots_.size()) return file_.Damaged(table_, number, "it is not there");
    Slot& slot = slots_[number];
    std::call_once(slot.once, [&] { slot.value = Read(number); });
    return slot.value;
  }

 private:
  using Value = Result<std::shared_ptr<const T>>;
  struct Slot {
    std::once_flag once;
    Value value = std::shared_ptr<const T>();
  };

  Value Read(uint32_t number) const {
    ATTUNE_ASSIGN_OR_RETURN(const std::string_view text, file_.TextAt(table_, number));
    Result<T> value = parse_(text);
    if (!value.ok()) return file_.Damaged(table_, number, value.error().message());
    return std::make_shared<const T>(std::move(*value));
  }

  const IndexFile& file_;
  const Section table_;
  const Parse parse_;
  std::vector<Slot> slots_;
};

bool IsPositive(double value) { return std::isfinite(value) && value > 0; }

// Checks bounds that every such row keeps.
Result<RankRow> RankAt(const IndexFile& file, uint64_t number) {
  ATTUNE_ASSIGN_OR_RETURN(const RankRow row, file.At<RankRow>(number));
  if (IsPositive(row.median_ns) && row.workspace_bytes >= 0) return row;
  return file.Damaged(Section::kRanks, number, "a number in it is out of bounds");
}

Result<RankedCandidate> ReadRanked(const IndexFile& file, uint64_t number) {
  ATTUNE_ASSIGN_OR_RETURN(const RankRow row, RankAt(file, number));
  ATTUNE_ASSIGN_OR_RETURN(const std::string_view text,
                          file.TextAt(Section::kCandidates, row.candidate));
  Result<Candidate> candidate = ParseCandidate(text);
  if (!candidate.ok()) {
    return file.Damaged(Section::kCandidates, row.candidate, candidate.error().message());
  }
  const bool fails_capture = (row.flags & RankRow::kFailsCapture) != 0;
  return RankedCandidate{std::move(*candidate), row.median_ns, row.workspace_bytes,
                         row.build_ns,          row.load_ns,   fails_capture};
}

Result<std::optional<ProblemRow>> FindRow(const IndexFile& file, const Problem& problem) {
  const std::string text = Text(problem);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<ProblemRow> row,
                          file.FindProblem(FingerprintOf(text)));
  if (!row.has_value()) return row;
  ATTUNE_ASSIGN_OR_RETURN(const std::string_view found,
                          file.TextAt(row->text_offset, row->text_bytes));
  return found == text ? row : std::nullopt;
}

Result<Problem> ReadProblemOf(const IndexFile& file, uint64_t number) {
  ATTUNE_ASSIGN_OR_RETURN(const ProblemRow row, file.ProblemAt(number));
  ATTUNE_ASSIGN_OR_RETURN(const std::string_view text,
                          file.TextAt(row.text_offset, row.text_bytes));
  Result<Problem> problem = ParseProblem(text);
  if (!problem.ok()) return file.Damaged(Section::kProblems, number, problem.error().message());
  return problem;
}

}  // namespace

struct ChoiceIndex::Places {
  explicit Places(const IndexFile& file)
      : targets(file, Section::kTargets, ParseTarget),
        environments(file, Section::kEnvironments, ParseEnvironment) {}

  Result<IndexedChoice> ReadChoice(const IndexFile& file, uint64_t number) {
    ATTUNE_ASSIGN_OR_RETURN(const ChoiceRow row, file.ChoiceAt(number));
    IndexedChoice choice;
    ATTUNE_ASSIGN_OR_RETURN(choice.target, targets.At(row.target));
    ATTUNE_ASSIGN_OR_RETURN(choice.environment, environments.At(row.environment));
    choice.cache = static_cast<CacheState>(row.cache);
    choice.revision = row.revision;
    choice.started_unix_ns = row.started_unix_ns;
    choice.default_position = row.default_position;
    choice.speedup = row.speedup;
    choice.speedup_low = row.speedup_low;
    choice.speedup_high = row.speedup_high;
    choice.confidence = row.confidence;
    for (uint64_t i = 0; i < row.rank_count; ++i) {
      ATTUNE_ASSIGN_OR_RETURN(RankedCandidate ranked, ReadRanked(file, row.first_rank + i));
      choice.ranking.push_back(std::move(ranked));
    }
    return choice;
  }

  SharedTexts<Target> targets;
  SharedTexts<Environment> environments;
};

ChoiceIndex::ChoiceIndex(std::unique_ptr<const IndexFile> file)
    : file_(std::move(file)), places_(std::make_unique<Places>(*file_)) {
  const IndexHeader& header = file_->header();
  identity_.database_id = Fingerprint{header.database_id_high, header.database_id_low}.ToHex();
  identity_.last_revision = header.last_revision;
}

ChoiceIndex::~ChoiceIndex() = default;

Result<std::unique_ptr<ChoiceIndex>> ChoiceIndex::Open(const std::filesystem::path& path) {
  ATTUNE_ASSIGN_OR_RETURN(auto file, IndexFile::Open(path));
  return std::unique_ptr<ChoiceIndex>(new ChoiceIndex(std::move(file)));
}

Result<std::unique_ptr<ChoiceIndex>> ChoiceIndex::Over(std::string bytes) {
  ATTUNE_ASSIGN_OR_RETURN(auto file, IndexFile::Over(std::move(bytes)));
  return std::unique_ptr<ChoiceIndex>(new ChoiceIndex(std::move(file)));
}

Result<std::vector<IndexedChoice>> ChoiceIndex::Find(const Problem& problem) const {
  std::vector<IndexedChoice> choices;
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<ProblemRow> row, FindRow(*file_, problem));
  if (!row.has_value()) return choices;
  for (uint64_t i = 0; i < row->choice_count; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(IndexedChoice choice,
                            places_->ReadChoice(*file_, row->first_choice + i));
    choices.push_back(std::move(choice));
  }
  return choices;
}

Result<std::optional<RankedText>> ChoiceIndex::FindBest(const Problem& problem) const {
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<ProblemRow> row, FindRow(*file_, problem));
  if (!row.has_value()) return std::optional<RankedText>();
  ATTUNE_ASSIGN_OR_RETURN(const ChoiceRow choice, file_->ChoiceAt(row->first_choice));
  ATTUNE_ASSIGN_OR_RETURN(const RankRow best, RankAt(*file_, choice.first_rank));
  ATTUNE_ASSIGN_OR_RETURN(const std::string_view candidate,
                          file_->TextAt(Section::kCandidates, best.candidate));
  return std::optional(RankedText{candidate, best.median_ns, best.workspace_bytes});
}

Result<std::vector<Neighbour>> ChoiceIndex::Nearest(const Problem& problem, size_t limit,
                                                    double max_distance) const {
  std::vector<Neighbour> neighbours;
  const std::string family = FamilyOf(problem);
  if (family.empty()) return neighbours;
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<FamilyRow> row,
                          file_->FindFamily(FingerprintOf(family)));
  if (!row.has_value()) return neighbours;
  const PointQuery query{PositionOf(problem), KeyOf(problem), limit, max_distance};
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<FoundPoint> points, FindNearest(*file_, *row, query));
  for (const FoundPoint& point : points) {
    ATTUNE_ASSIGN_OR_RETURN(Problem found, ReadProblemOf(*file_, point.problem));
    if (FamilyOf(found) != family) {
      return file_->Damaged(Section::kPoints, point.problem, "its problem is of another family");
    }
    neighbours.push_back({std::move(found), point.distance});
  }
  return neighbours;
}

Result<Problem> ChoiceIndex::ProblemAt(int64_t number) const {
  return ReadProblemOf(*file_, static_cast<uint64_t>(number));
}

Result<std::string_view> ChoiceIndex::bytes() const { return file_->bytes(); }

int64_t ChoiceIndex::size_bytes() const { return static_cast<int64_t>(file_->header().file_bytes); }

int64_t ChoiceIndex::problem_count() const {
  return static_cast<int64_t>(file_->Count(Section::kProblems));
}

}  // namespace attune
