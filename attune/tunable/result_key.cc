#include "attune/tunable/result_key.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> tokens;
  for (;;) {
    const size_t at = text.find(separator);
    tokens.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return tokens;
    text.remove_prefix(at + 1);
  }
}

bool ReadSize(std::string_view text, int64_t& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value >= 1 && value <= kMaxSize;
}

std::optional<SizePattern> ReadPattern(std::string_view token) {
  SizePattern pattern;
  if (token == "*") {
    pattern.any = true;
    return pattern;
  }
  if (!token.starts_with('*')) {
    if (!ReadSize(token, pattern.low)) return std::nullopt;
    pattern.high = pattern.low;
    return pattern;
  }
  const auto bounds = Split(token.substr(1), '-');
  if (bounds.size() != 2 || !ReadSize(bounds[0], pattern.low) ||
      !ReadSize(bounds[1], pattern.high) || pattern.low > pattern.high) {
    return std::nullopt;
  }
  return pattern;
}

std::string Text(const SizePattern& pattern) {
  if (pattern.any) return "*";
  if (pattern.low == pattern.high) return fmt::format("{}", pattern.low);
  return fmt::format("*{}-{}", pattern.low, pattern.high);
}

SizePattern PatternOf(int64_t size, bool dynamic, Reach reach) {
  if (!dynamic) return {size, size, false};
  if (reach == Reach::kAnySize) return {1, 1, true};
  const int64_t high = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
  return {high / 2 + 1, std::min(high, kMaxSize), false};
}

// Sizes and leading dimensions, both in the order of the key.
struct KeySizes {
  std::vector<int64_t> sizes;
  std::array<int64_t, 3> leading;
};

KeySizes SizesOf(const Gemm& gemm) {
  KeySizes key{{gemm.m, gemm.n, gemm.k}, {gemm.lda, gemm.ldb, gemm.ldc}};
  if (gemm.batch_count > 1) key.sizes.push_back(gemm.batch_count);
  return key;
}

std::string ParamsText(const WildcardKey& key) {
  std::string text = key.transposes;
  for (size_t i = 0; i < key.sizes.size(); ++i) {
    text += fmt::format("{}{}", i == 3 ? "_B_" : "_", Text(key.sizes[i]));
  }
  if (!key.leading.empty()) text += "_ld";
  for (const SizePattern& pattern : key.leading) text += fmt::format("_{}", Text(pattern));
  return text;
}

int DynamicCount(const WildcardKey& key) {
  return static_cast<int>(std::ranges::count_if(key.sizes, &SizePattern::is_star));
}

// Over the dynamic sizes, the sum of the octaves that they span.
double Breadth(const WildcardKey& key) {
  double octaves = 0;
  for (const SizePattern& size : key.sizes) {
    if (size.any) {
      octaves += std::log2(static_cast<double>(kMaxSize));
    } else {
      octaves += std::log2(static_cast<double>(size.high) / static_cast<double>(size.low));
    }
  }
  return octaves;
}

// The dimension of the mask that each leading dimension follows.
std::array<unsigned, 3> LeadingFollows(const Gemm& gemm) {
  return {gemm.trans_a == Transpose::kNo ? kDynamicM : kDynamicK,
          gemm.trans_b == Transpose::kNo ? kDynamicK : kDynamicN, kDynamicM};
}

// Reads the tokens after the transposes.
bool ReadTokens(std::vector<std::string_view> tokens, WildcardKey& key) {
  std::ranges::reverse(tokens);
  const auto take = [&](std::vector<SizePattern>& patterns) {
    if (tokens.empty()) return false;
    const auto pattern = ReadPattern(tokens.back());
    tokens.pop_back();
    if (!pattern) return false;
    patterns.push_back(*pattern);
    return true;
  };
  const auto accept = [&](std::string_view word) {
    if (tokens.empty() || tokens.back() != word) return false;
    tokens.pop_back();
    return true;
  };
  for (int i = 0; i < 3; ++i) {
    if (!take(key.sizes)) return false;
  }
  if (accept("B") && !take(key.sizes)) return false;
  if (accept("ld")) {
    for (int i = 0; i < 3; ++i) {
      if (!take(key.leading)) return false;
    }
  }
  return tokens.empty();
}

}  // namespace

Result<WildcardKey> ParseWildcard(const TunableOpKey& names) {
  const auto wrong = [&](std::string_view why) {
    return InvalidArgument(
        fmt::format("The wildcard key {},{} {}.", Quoted(names.op), Quoted(names.params), why));
  };
  if (!IsTunableOpLine(names.op) || names.op.starts_with("Scaled")) {
    return wrong("is of an operator that has no wildcards");
  }
  std::vector<std::string_view> tokens = Split(names.params, '_');
  WildcardKey key{names, std::string(tokens.front()), {}, {}};
  const auto is_transpose = [](char c) { return c == 'n' || c == 't'; };
  if (key.transposes.size() != 2 || !std::ranges::all_of(key.transposes, is_transpose)) {
    return wrong("does not begin with two of n and t");
  }
  tokens.erase(tokens.begin());
  if (!ReadTokens(std::move(tokens), key)) {
    return wrong("has a token that is no size, no * and no range as in *65-128");
  }
  const bool batched = names.op.starts_with("GemmStridedBatched");
  if (batched != (key.sizes.size() == 4)) return wrong("has a batch where none belongs, or none");
  if (DynamicCount(key) == 0) return wrong("has no dynamic size");
  return key;
}

std::optional<WildcardKey> WildcardOf(const Gemm& gemm, const DynamicDims& dims) {
  auto names = TunableOpKeyOf(gemm);
  if (!names.ok()) return std::nullopt;
  const KeySizes concrete = SizesOf(Normalized(gemm));
  constexpr unsigned kBits[] = {kDynamicM, kDynamicN, kDynamicK, kDynamicBatch};
  WildcardKey key{*names, names->params.substr(0, 2), {}, {}};
  for (size_t i = 0; i < concrete.sizes.size(); ++i) {
    key.sizes.push_back(PatternOf(concrete.sizes[i], (dims.mask & kBits[i]) != 0, dims.reach));
  }
  const auto follows = LeadingFollows(gemm);
  for (size_t i = 0; i < follows.size(); ++i) {
    const bool dynamic = (dims.mask & follows[i]) != 0;
    key.leading.push_back(PatternOf(concrete.leading[i], dynamic, Reach::kAnySize));
  }
  // A size of 1 has a bucket of its own, [1, 1]: nothing is dynamic then.
  if (DynamicCount(key) == 0) return std::nullopt;
  key.names.params = ParamsText(key);
  return key;
}

bool Matches(const WildcardKey& pattern, const Gemm& gemm) {
  const auto names = TunableOpKeyOf(gemm);
  if (!names.ok() || names->op != pattern.names.op) return false;
  const KeySizes concrete = SizesOf(Normalized(gemm));
  if (concrete.sizes.size() != pattern.sizes.size()) return false;
  for (size_t i = 0; i < concrete.sizes.size(); ++i) {
    if (!pattern.sizes[i].Matches(concrete.sizes[i])) return false;
  }
  for (size_t i = 0; i < pattern.leading.size(); ++i) {
    if (!pattern.leading[i].Matches(concrete.leading[i])) return false;
  }
  return true;
}

bool IsMoreSpecific(const WildcardKey& a, const WildcardKey& b) {
  const int count_a = DynamicCount(a);
  const int count_b = DynamicCount(b);
  return count_a != count_b ? count_a < count_b : Breadth(a) < Breadth(b);
}

bool DifferInSizesOnly(const Gemm& a, const Gemm& b) {
  Gemm same = a;
  same.m = b.m;
  same.n = b.n;
  same.k = b.k;
  same.lda = b.lda;
  same.ldb = b.ldb;
  same.ldc = b.ldc;
  same.batch_count = b.batch_count;
  same.stride_a = b.stride_a;
  same.stride_b = b.stride_b;
  same.stride_c = b.stride_c;
  return same == b;
}

}  // namespace attune
