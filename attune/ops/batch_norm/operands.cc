// The operands of a batch norm, and its shape.
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/ops/batch_norm/batch_norm_operator.h"

namespace attune {
namespace {

// Extents and strides in the order n, c, [d,] h, w.
TensorDesc TensorOf(const BatchNorm& norm) {
  const bool is_channels_last = IsChannelsLast(norm.layout);
  TensorDesc tensor;
  tensor.type = norm.type;
  tensor.extents = {norm.batch, norm.channels, norm.height, norm.width};
  if (HasDepth(norm.layout)) tensor.extents.insert(tensor.extents.begin() + 2, norm.depth);
  const size_t rank = tensor.extents.size();
  tensor.strides.resize(rank);
  int64_t stride = is_channels_last ? norm.channels : 1;
  for (size_t axis = rank - 1; axis >= 2; --axis) {
    tensor.strides[axis] = stride;
    stride *= tensor.extents[axis];
  }
  tensor.strides[1] = is_channels_last ? 1 : stride;
  tensor.strides[0] = norm.channels * norm.depth * norm.height * norm.width;
  return tensor;
}

// Collects operands and their positions.
class OperandWriter {
 public:
  explicit OperandWriter(const BatchNorm& norm)
      : tensor_(TensorOf(norm)), values_{DataType::kF32, {ShapeOf(norm).groups}, {1}} {}

  void Tensor(std::string_view name, OperandRole role, int& position) {
    Add(name, role, tensor_, position);
  }
  // One value for each group.
  void Values(std::string_view name, OperandRole role, int& position) {
    Add(name, role, values_, position);
  }
  std::vector<Operand> Take() { return std::move(operands_); }

 private:
  void Add(std::string_view name, OperandRole role, const TensorDesc& tensor, int& position) {
    position = static_cast<int>(operands_.size());
    operands_.push_back({std::string(name), role, tensor});
  }

  const TensorDesc tensor_;
  const TensorDesc values_;
  std::vector<Operand> operands_;
};

void ListForward(const BatchNorm& norm, OperandWriter& writer, BatchNormOperands& at) {
  writer.Tensor("x", OperandRole::kIn, at.x);
  if (HasAdd(norm.fusion)) writer.Tensor("residual", OperandRole::kIn, at.residual);
  if (norm.affine) {
    writer.Values("gamma", OperandRole::kIn, at.gamma);
    writer.Values("beta", OperandRole::kIn, at.beta);
  }
  if (norm.pass == BatchNormPass::kInference) {
    writer.Values("mean", OperandRole::kIn, at.mean);
    writer.Values("variance", OperandRole::kIn, at.variance);
  }
  if (norm.running) {
    writer.Values("running_mean", OperandRole::kInOut, at.running_mean);
    writer.Values("running_variance", OperandRole::kInOut, at.running_variance);
  }
  if (norm.saved) {
    writer.Values("saved_mean", OperandRole::kOut, at.mean);
    writer.Values("saved_inverse_deviation", OperandRole::kOut, at.inverse_deviation);
  }
  writer.Tensor("y", OperandRole::kOut, at.y);
}

void ListBackward(const BatchNorm& norm, OperandWriter& writer, BatchNormOperands& at) {
  writer.Tensor("x", OperandRole::kIn, at.x);
  writer.Tensor("dy", OperandRole::kIn, at.dy);
  if (HasRelu(norm.fusion)) writer.Tensor("y", OperandRole::kIn, at.y);
  if (norm.affine) writer.Values("gamma", OperandRole::kIn, at.gamma);
  if (norm.saved) {
    writer.Values("saved_mean", OperandRole::kIn, at.mean);
    writer.Values("saved_inverse_deviation", OperandRole::kIn, at.inverse_deviation);
  }
  if (norm.affine) {
    writer.Values("dgamma", OperandRole::kOut, at.dgamma);
    writer.Values("dbeta", OperandRole::kOut, at.dbeta);
  }
  if (norm.fusion == BatchNormFusion::kAddRelu) {
    writer.Tensor("dresidual", OperandRole::kOut, at.dresidual);
  }
  writer.Tensor("dx", OperandRole::kOut, at.dx);
}

}  // namespace

std::vector<Operand> ListOperands(const BatchNorm& norm, BatchNormOperands* positions) {
  BatchNormOperands at;
  OperandWriter writer(norm);
  if (norm.pass == BatchNormPass::kBackward) {
    ListBackward(norm, writer, at);
  } else {
    ListForward(norm, writer, at);
  }
  if (positions != nullptr) *positions = at;
  return writer.Take();
}

BatchNormOperands OperandsOf(const BatchNorm& norm) {
  BatchNormOperands positions;
  ListOperands(norm, &positions);
  return positions;
}

BatchNormShape ShapeOf(const BatchNorm& norm) {
  const int64_t spatial = norm.depth * norm.height * norm.width;
  if (norm.mode == BatchNormMode::kPerActivation) return {norm.batch, norm.channels * spatial, 1};
  if (IsChannelsLast(norm.layout)) return {norm.batch * spatial, norm.channels, 1};
  return {norm.batch, norm.channels, spatial};
}

}  // namespace attune
