#include "bench/alternating.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "include/attune/attune.h"

namespace attune {
namespace {

constexpr int kCallsPerBlock = 12;
// The first ones of a block pay for the change.
constexpr int kSkipped = 2;

using Clock = std::chrono::steady_clock;

double PercentileOf(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(fraction * static_cast<double>(values.size() - 1))];
}

void Require(attune_code code) {
  if (code == ATTUNE_OK) return;
  fmt::print(stderr, "dispatch: {}\n", attune_last_message());
  std::exit(1);
}

struct Contender {
  std::string library;
  attune_gemm gemm{};
  std::vector<double> alone_ns;
  std::vector<double> alternating_ns;
  std::vector<double> ratios;
};

class Alternation {
 public:
  explicit Alternation(int size) {
    const size_t elements = static_cast<size_t>(size) * static_cast<size_t>(size + 4);
    a_.assign(elements, 0.5F);
    b_.assign(elements, 0.25F);
    c_.assign(elements, 0);
    std::string force;
    for (const char* library : {"openblas", "onednn", "blis"}) {
      Contender contender;
      contender.library = library;
      contender.gemm.m = contender.gemm.n = size;
      contender.gemm.k = size + static_cast<int>(contenders_.size());
      char* text = nullptr;
      Require(attune_gemm_text(&contender.gemm, 1, 0, &text));
      force += fmt::format("{} -> host.{}-gemm;", text, library);
      attune_free(text);
      contenders_.push_back(std::move(contender));
    }
    ::setenv("ATTUNE_FORCE", force.c_str(), 1);
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.database = "";
    options.policy = ATTUNE_NEVER;
    Require(attune_runtime_create(&options, &runtime_));
    ::unsetenv("ATTUNE_FORCE");
  }
  ~Alternation() { attune_runtime_destroy(runtime_); }
  Alternation(const Alternation&) = delete;
  Alternation& operator=(const Alternation&) = delete;

  void Round() {
    std::vector<double> alone_ns;
    for (Contender& contender : contenders_) alone_ns.push_back(BlockAlone(contender));
    std::vector<std::vector<double>> in_turn(contenders_.size());
    for (int call = 0; call < kCallsPerBlock; ++call) {
      for (size_t i = 0; i < contenders_.size(); ++i) {
        const double time_ns = Call(contenders_[i].gemm);
        if (call >= kSkipped) in_turn[i].push_back(time_ns);
      }
    }
    for (size_t i = 0; i < contenders_.size(); ++i) {
      auto& all = contenders_[i].alternating_ns;
      contenders_[i].ratios.push_back(PercentileOf(in_turn[i], 0.5) / alone_ns[i]);
      all.insert(all.end(), in_turn[i].begin(), in_turn[i].end());
    }
  }

  std::vector<AlternatingRow> Rows() const {
    std::vector<AlternatingRow> rows;
    for (const Contender& contender : contenders_) {
      AlternatingRow row;
      row.library = contender.library;
      row.alone_ns = PercentileOf(contender.alone_ns, 0.5);
      row.alternating_ns = PercentileOf(contender.alternating_ns, 0.5);
      row.ratio = PercentileOf(contender.ratios, 0.5);
      row.ratio_p90 = PercentileOf(contender.alternating_ns, 0.9) / row.alone_ns;
      rows.push_back(row);
    }
    return rows;
  }

 private:
  double Call(const attune_gemm& gemm) {
    attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
    arguments.a = a_.data();
    arguments.b = b_.data();
    arguments.c = c_.data();
    arguments.alpha = 1;
    const auto begin = Clock::now();
    Require(attune_run_gemm(runtime_, &gemm, &arguments));
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  }

  double BlockAlone(Contender& contender) {
    std::vector<double> times_ns;
    for (int call = 0; call < kCallsPerBlock; ++call) {
      const double time_ns = Call(contender.gemm);
      if (call >= kSkipped) times_ns.push_back(time_ns);
    }
    contender.alone_ns.insert(contender.alone_ns.end(), times_ns.begin(), times_ns.end());
    return PercentileOf(times_ns, 0.5);
  }

  std::vector<Contender> contenders_;
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> c_;
  attune_runtime* runtime_ = nullptr;
};

}  // namespace

std::vector<AlternatingRow> MeasureAlternating(int size, int rounds) {
  Alternation alternation(size);
  for (int round = 0; round < rounds; ++round) alternation.Round();
  return alternation.Rows();
}

}  // namespace attune
