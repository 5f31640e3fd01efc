#include "extensions/models/samples/time_samples.h"

#include "attune/formats/miopen/conv_keys.h"
#include "attune/model/shape_features.h"
#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"

namespace attune::miopen {
namespace {

std::string LayerOf(Conv conv) {
  conv.batch = 1;
  conv.direction = ConvDirection::kForward;
  conv.type = DataType::kF32;
  const Layout layout = conv.spatial_rank == 3 ? Layout::kNcdhw : Layout::kNchw;
  conv.in_layout = conv.weights_layout = conv.out_layout = layout;
  return Text(Problem(conv));
}

}  // namespace

FindSamples SamplesOf(const FindDb& db) {
  FindSamples found;
  for (const FindRecord& record : db.records) {
    const auto key = ReadFindKey(record.key);
    const auto conv = key.has_value() ? ProblemOf(*key) : Result<Conv>(Unsupported("No key."));
    if (!conv.ok()) {
      ++found.left_out;
      continue;
    }
    const FeatureRow row = ShapeRow(Problem(*conv), "");
    for (const FindItem& item : record.items) {
      Sample sample;
      sample.row = row;
      sample.row.algorithm = item.solver;
      sample.time_ms = item.time_ms;
      sample.configuration = found.layers.size();
      found.samples.push_back(std::move(sample));
    }
    found.layers.push_back(LayerOf(*conv));
  }
  return found;
}

}  // namespace attune::miopen
