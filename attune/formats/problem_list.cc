#include "attune/formats/problem_list.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "attune/formats/problem_line.h"

namespace attune {
namespace {

struct FingerprintHash {
  size_t operator()(const Fingerprint& fingerprint) const {
    return static_cast<size_t>(fingerprint.low);  // Already uniform.
  }
};

void OverrideBatchSize(int64_t batch_size, Problem& problem) {
  if (auto* const conv = std::get_if<Conv>(&problem)) conv->batch = batch_size;
  auto* const other = std::get_if<OtherOp>(&problem);
  if (other == nullptr) return;
  // "n" is the batch size of a conv_variant.
  for (const char* const key : {"batchsize", "n"}) {
    const auto found = other->attributes.find(key);
    if (found != other->attributes.end()) found->second = std::to_string(batch_size);
  }
}

class ListReader {
 public:
  explicit ListReader(const ProblemListOptions& options) : options_(options) {}

  void ReadLine(std::string_view line) {
    ++line_;
    if (IsIgnoredLine(line)) return;
    ++list_.read;
    auto problems = ReadProblemLine(line);
    if (!problems) {
      Reject(problems.error().column, std::move(problems.error().reason));
      return;
    }
    if (options_.batch_size.has_value() && !ApplyBatchSize(*problems)) return;
    Add(std::move(*problems));
  }

  ProblemList Finish() { return std::move(list_); }

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

  void Add(std::vector<Problem> problems) {
    bool any_new = false;
    bool all_supported = true;
    for (Problem& problem : problems) {
      const auto [index, is_new] = Find(std::move(problem));
      ++list_.problems[index].count;
      any_new = any_new || is_new;
      all_supported = all_supported && list_.problems[index].supported;
    }
    ++(any_new ? list_.imported : list_.duplicates);
    if (any_new && !all_supported) ++list_.unsupported;
  }

  // The place of `problem` in the list, where it is put if it is new.
  std::pair<size_t, bool> Find(Problem problem) {
    std::string text = Text(problem);
    const Fingerprint key = FingerprintOf(text);
    const auto [found, is_new] = index_of_.try_emplace(key, list_.problems.size());
    if (is_new) {
      const bool supported = options_.is_supported ? options_.is_supported(problem)
                                                   : !std::holds_alternative<OtherOp>(problem);
      list_.problems.push_back({std::move(problem), std::move(text), key, 0, line_, supported});
    }
    return {found->second, is_new};
  }

  const ProblemListOptions& options_;
  ProblemList list_;
  std::unordered_map<Fingerprint, size_t, FingerprintHash> index_of_;
  uint64_t line_ = 0;
};

}  // namespace

ProblemList ReadProblemList(std::string_view content, const ProblemListOptions& options) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  ListReader reader(options);
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
