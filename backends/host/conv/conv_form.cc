#include "backends/host/conv/conv_form.h"

#include <cassert>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"

namespace attune::host {
namespace {

TensorForm FormOf(const TensorDesc& tensor) {
  TensorForm form;
  form.outer_stride = tensor.strides[0];
  form.channel_stride = tensor.strides[1];
  const size_t missing = 5 - tensor.extents.size();  // 2-D has no depth.
  for (size_t i = 2; i < tensor.extents.size(); ++i) {
    form.extents[i - 2 + missing] = tensor.extents[i];
    form.strides[i - 2 + missing] = tensor.strides[i];
  }
  return form;
}

}  // namespace

ConvForm FormOf(const Conv& conv) {
  assert(conv.mode == ConvMode::kConvolution);
  const std::vector<Operand> operands = Operands(conv);
  const ConvRoles roles = RolesOf(conv);
  ConvForm form;
  form.batch = conv.batch;
  form.groups = conv.groups;
  form.in_channels = conv.in_channels / conv.groups;
  form.out_channels = conv.out_channels / conv.groups;
  form.x = FormOf(operands[roles.x].tensor);
  form.w = FormOf(operands[roles.w].tensor);
  form.y = FormOf(operands[roles.y].tensor);
  form.pad = conv.pad;
  form.stride = conv.stride;
  form.dilation = conv.dilation;
  return form;
}

}  // namespace attune::host
