// Batch normalisation for C++17 and later, over attune/ops/batch_norm.h, which has the details.
//
//   attune::BatchNormProblem norm;
//   norm.batch = 32, norm.channels = 64, norm.height = norm.width = 56;
//   norm.Run(runtime, {.x = x, .gamma = gamma, .beta = beta, .y = y});
#ifndef ATTUNE_OPS_BATCH_NORM_HPP_
#define ATTUNE_OPS_BATCH_NORM_HPP_

#include <cstdint>
#include <vector>

#include "attune/attune.hpp"
#include "attune/ops/batch_norm.h"

namespace attune {
inline namespace v1 {

// Buffers that the problem does not have are ignored.
struct BatchNormBuffers {
  const void* x = nullptr;
  const void* dy = nullptr;
  const void* residual = nullptr;
  const void* gamma = nullptr;
  const void* beta = nullptr;
  void* running_mean = nullptr;  // Read and written, as the variance.
  void* running_variance = nullptr;
  void* mean = nullptr;               // Inference: read. Otherwise the saved one.
  void* variance = nullptr;           // Inference alone.
  void* inverse_deviation = nullptr;  // The saved one.
  void* y = nullptr;                  // Backward reads it.
  void* dgamma = nullptr;
  void* dbeta = nullptr;
  void* dresidual = nullptr;
  void* dx = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  void* queue = nullptr;  // As attune_arguments has it.
};

struct BatchNormProblem {
  std::int64_t batch = 1, channels = 1, depth = 1, height = 1, width = 1;
  attune_batch_norm_pass pass = ATTUNE_BATCH_NORM_TRAINING;
  bool per_activation = false;
  attune_layout layout = ATTUNE_NCHW;
  bool affine = true, running = false, saved = false;
  attune_batch_norm_fusion fusion = ATTUNE_BATCH_NORM_PLAIN;
  attune_type type = ATTUNE_F32;
  bool deterministic = false;
  int alignment_bytes = 0;
  double epsilon = 1e-5, momentum = 0.1;

  attune_batch_norm ToC() const {
    return {batch,  channels, depth, height, width, pass,          per_activation, layout,
            affine, running,  saved, fusion, type,  deterministic, alignment_bytes};
  }

  // Computes with the best candidate known for this shape. Throws attune::Error.
  void Run(const Runtime& runtime, const BatchNormBuffers& buffers) const {
    const std::vector<void*> data = Operands(buffers);
    attune_operands operands = ATTUNE_OPERANDS_INIT;
    operands.data = data.data();
    operands.count = data.size();
    operands.workspace = buffers.workspace;
    operands.workspace_bytes = buffers.workspace_bytes;
    operands.queue = buffers.queue;
    const attune_batch_norm problem = ToC();
    Check(attune_run_batch_norm(runtime.get(), &problem, epsilon, momentum, &operands));
  }

 private:
  bool has_relu() const {
    return fusion == ATTUNE_BATCH_NORM_RELU || fusion == ATTUNE_BATCH_NORM_ADD_RELU;
  }
  bool has_add() const {
    return fusion == ATTUNE_BATCH_NORM_ADD || fusion == ATTUNE_BATCH_NORM_ADD_RELU;
  }

  // In the order of batch_norm.h.
  std::vector<void*> Operands(const BatchNormBuffers& of) const {
    std::vector<void*> data = {const_cast<void*>(of.x)};
    const auto add = [&data](bool exists, const void* buffer) {
      if (exists) data.push_back(const_cast<void*>(buffer));
    };
    const bool is_backward = pass == ATTUNE_BATCH_NORM_BACKWARD;
    const bool is_inference = pass == ATTUNE_BATCH_NORM_INFERENCE;
    const bool is_training = pass == ATTUNE_BATCH_NORM_TRAINING;
    add(is_backward, of.dy);
    add(is_backward && has_relu(), of.y);
    add(!is_backward && has_add(), of.residual);
    add(affine, of.gamma);
    add(affine && !is_backward, of.beta);
    add(is_inference, of.mean);
    add(is_inference, of.variance);
    add(is_training && running, of.running_mean);
    add(is_training && running, of.running_variance);
    add(!is_inference && saved, of.mean);
    add(!is_inference && saved, of.inverse_deviation);
    add(is_backward && affine, of.dgamma);
    add(is_backward && affine, of.dbeta);
    add(is_backward && fusion == ATTUNE_BATCH_NORM_ADD_RELU, of.dresidual);
    data.push_back(is_backward ? of.dx : of.y);
    return data;
  }
};

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_OPS_BATCH_NORM_HPP_
