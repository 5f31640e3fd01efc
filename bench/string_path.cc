#include "bench/string_path.h"

#include <fmt/format.h>

namespace attune {

std::string StringPath::OpSignature(const attune_gemm& gemm) {
  return fmt::format("GemmTunableOp_{}_{}{}", gemm.type == ATTUNE_F32 ? "float" : "double",
                     gemm.trans_a == 1 ? 'T' : 'N', gemm.trans_b == 1 ? 'T' : 'N');
}

std::string StringPath::ParamsSignature(const attune_gemm& gemm) {
  return fmt::format("{}{}_{}_{}_{}_ld_{}_{}_{}", gemm.trans_a == 1 ? 't' : 'n',
                     gemm.trans_b == 1 ? 't' : 'n', gemm.m, gemm.n, gemm.k, gemm.lda, gemm.ldb,
                     gemm.ldc);
}

void StringPath::Add(const attune_gemm& gemm, const std::string& solution) {
  results_[OpSignature(gemm)][ParamsSignature(gemm)] = {solution, 0.1};
  auto& callable = ops_[solution];
  if (callable == nullptr) callable = std::make_unique<Callable>();
}

StringPath::ResultEntry StringPath::Lookup(const std::string& op, const std::string& params) {
  const std::lock_guard<std::mutex> lock(results_mutex_);
  const auto of_op = results_.find(op);
  if (of_op == results_.end()) return {};
  const auto found = of_op->second.find(params);
  return found == of_op->second.end() ? ResultEntry() : found->second;
}

StringPath::Callable& StringPath::Find(const attune_gemm& gemm) {
  const std::string op = OpSignature(gemm);
  const std::string params = ParamsSignature(gemm);
  const ResultEntry result = Lookup(op, params);
  const std::lock_guard<std::mutex> lock(ops_mutex_);
  return *ops_.find(result.key)->second;
}

}  // namespace attune
