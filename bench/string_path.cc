#include "bench/string_path.h"

#include <cstdlib>

#include <fmt/printf.h>

namespace attune {

std::string StringPath::OpSignature(const attune_gemm& gemm) {
  return fmt::sprintf("GemmTunableOp_%s_%c%c", gemm.type == ATTUNE_F32 ? "float" : "double",
                      gemm.trans_a == 1 ? 'T' : 'N', gemm.trans_b == 1 ? 'T' : 'N');
}

std::string StringPath::ParamsSignature(const attune_gemm& gemm) {
  return fmt::sprintf("%c%c_%ld_%ld_%ld_ld_%ld_%ld_%ld", gemm.trans_a == 1 ? 't' : 'n',
                      gemm.trans_b == 1 ? 't' : 'n', gemm.m, gemm.n, gemm.k, gemm.lda, gemm.ldb,
                      gemm.ldc);
}

void StringPath::Add(const attune_gemm& gemm, const std::string& solution,
                     const std::string& blas_signature) {
  results_[OpSignature(gemm)][ParamsSignature(gemm)] = {solution, 0.1, blas_signature};
  auto& callable = ops_[solution];
  if (callable == nullptr) callable = std::make_unique<Callable>();
}

StringPath::ResultEntry StringPath::Lookup(const std::string& op, const std::string& params) {
  const std::lock_guard<std::mutex> lock(results_mutex_);
  const auto of_op = results_.find(op);
  if (of_op == results_.end()) return ResultEntry::Null();
  const auto found = of_op->second.find(params);
  return found == of_op->second.end() ? ResultEntry::Null() : found->second;
}

StringPath::Callable& StringPath::Find(const attune_gemm& gemm) {
  const std::string op = OpSignature(gemm);
  const std::string params = ParamsSignature(gemm);
  ResultEntry result = ResultEntry::Null();
  result = Lookup(op, params);
  // Asked twice: whether to tune, and whether there is something to call.
  for (int asked = 0; asked < 2; ++asked) {
    if (result == ResultEntry::Null()) std::abort();
  }
  const std::lock_guard<std::mutex> lock(ops_mutex_);
  return *ops_.find(result.key)->second;
}

}  // namespace attune
