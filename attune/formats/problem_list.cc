#include "attune/formats/problem_list.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "attune/formats/own_list.h"
#include "attune/formats/problem_line.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

struct FingerprintHash {
  size_t operator()(const Fingerprint& fingerprint) const {
    return static_cast<size_t>(fingerprint.low);  // Already uniform.
  }
};

void OverrideBatchSize(int64_t batch_size, Problem& problem) {
  if (const ProblemField* const batch = FindField(problem.op().fields(), kBatchField)) {
    problem = problem.op().With(problem, *batch, batch_size);
  }
  if (!problem.Is<OtherOp>()) return;
  OtherOp other = problem.Get<OtherOp>();
  // "n" is the batch size of a conv_variant.
  for (const char* const key : {"batchsize", "n"}) {
    const auto found = other.attributes.find(key);
    if (found != other.attributes.end()) found->second = std::to_string(batch_size);
  }
  problem = std::move(other);
}

class ListReader {
 public:
  explicit ListReader(const ProblemListOptions& options) : options_(options) {}

  void ReadLine(std::string_view line) {
    ++line_;
    if (!IsIgnoredLine(line)) ReadWeighted(line, 1);
  }

  // A problem with weight `weight`, on line `line_`.
  void ReadWeighted(std::string_view text, uint64_t weight) {
    ++list_.read;
    auto problems = ReadProblemLine(text);
    if (!problems) {
      Reject(problems.error().column, std::move(problems.error().reason));
      return;
    }
    if (options_.batch_size.has_value() && !ApplyBatchSize(*problems)) return;
    Add(std::move(*problems), weight);
  }

  // Takes an entry of ReadOwnList().
  void ReadEntry(const OwnListEntry& entry) {
    line_ = entry.line;
    if (entry.fault.empty()) return ReadWeighted(entry.problem, entry.weight);
    ++list_.read;
    Reject(entry.column, entry.fault);
  }

  ProblemList Finish() {
    constexpr size_t kBlock = 512;
    const size_t count = list_.problems.size();
    const auto ask = [&](int64_t block) {
      const size_t begin = static_cast<size_t>(block) * kBlock;
      for (size_t i = begin; i < std::min(begin + kBlock, count); ++i) {
        ListedProblem& listed = list_.problems[i];
        listed.supported = options_.is_supported ? options_.is_supported(listed.problem)
                                                 : !listed.problem.Is<OtherOp>();
      }
    };
    const auto blocks = static_cast<int64_t>((count + kBlock - 1) / kBlock);
    if (options_.for_each) {
      options_.for_each(blocks, ask);
    } else {
      for (int64_t block = 0; block < blocks; ++block) ask(block);
    }
    for (size_t line = 0, at = 0; line < line_ends_.size(); at = line_ends_[line++]) {
      const bool all =
          std::all_of(of_lines_.begin() + static_cast<std::ptrdiff_t>(at),
                      of_lines_.begin() + static_cast<std::ptrdiff_t>(line_ends_[line]),
                      [&](size_t index) { return list_.problems[index].supported; });
      list_.unsupported += all ? 0 : 1;
    }
    return std::move(list_);
  }

 private:
  void Reject(uint64_t column, std::string reason) {
    list_.rejected.push_back({line_, column, std::move(reason)});
  }

  bool ApplyBatchSize(std::vector<Problem>& problems) {
    for (Problem& problem : problems) {
      OverrideBatchSize(*options_.batch_size, problem);
      const Status status = Validate(problem);
      if (status.ok()) continue;
      Reject(1, "With the batch size of " + std::to_string(*options_.batch_size) + ": " +
                    status.message());
      return false;
    }
    return true;
  }

  void Add(std::vector<Problem> problems, uint64_t weight) {
    bool any_new = false;
    const size_t before = of_lines_.size();
    for (Problem& problem : problems) {
      const auto [index, is_new] = Find(std::move(problem));
      list_.problems[index].count += weight;
      any_new = any_new || is_new;
      of_lines_.push_back(index);
    }
    ++(any_new ? list_.imported : list_.duplicates);
    if (any_new) {
      line_ends_.push_back(of_lines_.size());
    } else {
      of_lines_.resize(before);
    }
  }

  // The index of `problem` in the list; appends a new one.
  std::pair<size_t, bool> Find(Problem problem) {
    std::string text = Text(problem);
    const Fingerprint key = FingerprintOf(text);
    const auto [found, is_new] = index_of_.try_emplace(key, list_.problems.size());
    if (is_new) {
      list_.problems.push_back({std::move(problem), std::move(text), key, 0, line_, true});
    }
    return {found->second, is_new};
  }

  const ProblemListOptions& options_;
  ProblemList list_;
  std::unordered_map<Fingerprint, size_t, FingerprintHash> index_of_;
  uint64_t line_ = 0;
  // List indices of the problems in the imported lines, line by line, and the end of each line in
  // that: support is known only at the end.
  std::vector<size_t> of_lines_;
  std::vector<size_t> line_ends_;
};

}  // namespace

ProblemList ReadProblemList(std::string_view content, const ProblemListOptions& options) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  ListReader reader(options);
  if (const auto entries = ReadOwnList(content)) {
    for (const OwnListEntry& entry : *entries) reader.ReadEntry(entry);
    return reader.Finish();
  }
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    reader.ReadLine(line);
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return reader.Finish();
}

}  // namespace attune
