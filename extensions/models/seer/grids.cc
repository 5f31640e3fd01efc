#include "extensions/models/seer/grids.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "extensions/models/seer/table_rows.h"

namespace attune::seer {
namespace {

constexpr int64_t kMostOperatorBytes = int64_t{4} << 30;

struct Grid {
  std::vector<int64_t> n = {128};
  std::vector<int64_t> c;
  std::vector<int64_t> w;
  std::vector<int64_t> k;
  std::vector<int64_t> f;
  std::vector<int64_t> s = {1};
  std::vector<int64_t> pad = {0};
};

Grid GridOf(int algorithm) {
  const std::vector<int64_t> of_ffts = {3, 16, 32, 64, 128, 256, 512, 1024};
  const std::vector<int64_t> odd = {1, 3, 5, 7, 9, 11};
  Grid grid;
  if (algorithm == 4 || algorithm == 5) {
    grid.c = of_ffts;
    grid.w = algorithm == 4 ? std::vector<int64_t>{16, 32, 48, 64, 96, 128, 224, 256}
                            : std::vector<int64_t>{32, 64, 128, 224, 256, 320};
    grid.f = odd;
  } else if (algorithm == 6) {
    grid.c = {3, 16, 32, 64, 100, 128, 256, 400, 512, 600, 800, 1024};
    grid.w = {4, 10, 16, 20, 32, 64, 80, 100, 128, 224, 256, 400, 512};
    grid.f = {3};
    grid.pad = {1};
  } else if (algorithm == 7) {
    grid.c = {3, 16, 32, 64, 128, 256, 400, 512, 800, 1024};
    grid.w = {4, 10, 16, 32, 64, 100, 128, 224, 256, 400, 512};
    grid.f = {3, 5};
    grid.pad = {1};
  } else {
    grid.c = {3, 16, 64, 128, 512, 1024};
    grid.w = {10, 40, 80, 160, 224, 320};
    grid.f = {1, 3, 5, 7, 9};
    grid.s = {1, 2, 3, 4};
  }
  grid.k = grid.c;
  return grid;
}

std::vector<Layer> LayersOf(const Grid& grid) {
  std::vector<Layer> layers;
  for (const int64_t n : grid.n) {
    for (const int64_t c : grid.c) {
      for (const int64_t w : grid.w) {
        for (const int64_t k : grid.k) {
          for (const int64_t f : grid.f) {
            for (const int64_t s : grid.s) {
              for (const int64_t pad : grid.pad) {
                if (w + 2 * pad < f) continue;
                Layer& layer = layers.emplace_back(Layer{n, c, w, k, 0, f, s, pad});
                layer.p = OutputWidth(layer);
              }
            }
          }
        }
      }
    }
  }
  return layers;
}

// The values that a line of a file sets.
std::vector<int64_t>* ValuesOf(Grid& grid, std::string_view name) {
  const std::array<std::pair<std::string_view, std::vector<int64_t>*>, 7> all = {
      {{"N", &grid.n},
       {"C", &grid.c},
       {"W", &grid.w},
       {"K", &grid.k},
       {"f", &grid.f},
       {"s", &grid.s},
       {"p", &grid.pad}}};
  for (const auto& [known, values] : all) {
    if (known == name) return values;
  }
  return nullptr;
}

Status TakeLine(const CsvRow& row, Grid& grid, std::string& taken) {
  const std::string& name = row.fields[0];
  std::vector<int64_t>* const values = ValuesOf(grid, name);
  if (values == nullptr) {
    return WrongRow(row, fmt::format("'{}' is none of N, C, W, K, f, s and p.", Excerpt(name)));
  }
  if (taken.find(name) != taken.npos) {
    return WrongRow(row, fmt::format("{} has its values already.", name));
  }
  taken += name;
  if (row.fields.size() < 2) return WrongRow(row, fmt::format("{} has no values.", name));
  values->clear();
  for (size_t i = 1; i < row.fields.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t value, WholeIn(row, i, name == "p" ? 0 : 1, kMostExtent));
    values->push_back(value);
  }
  return Status::Ok();
}

}  // namespace

std::vector<Layer> TrainingGrid(int algorithm, const std::vector<int64_t>& batches) {
  Grid grid = GridOf(algorithm);
  grid.n = batches;
  return LayersOf(grid);
}

std::vector<Layer> LayersOf(std::string_view operator_name, std::span<const Layer> layers) {
  const bool is_layout = operator_name == "layout";
  const bool keeps_channels = is_layout || operator_name.starts_with("maxpool");
  std::vector<Layer> taken;
  std::set<LayerKey> known;
  for (Layer layer : layers) {
    if (operator_name == "conv1x1" && layer.f != 1) continue;
    if (keeps_channels) layer.k = layer.c;
    if (is_layout) layer.f = layer.s = 1;
    if (is_layout) layer.pad = 0;
    layer.p = OutputWidth(layer);
    if (known.insert(KeyOf(layer)).second) taken.push_back(layer);
  }
  return taken;
}

std::vector<Layer> OperatorGrid(std::string_view operator_name) {
  std::vector<Layer> layers = LayersOf(operator_name, TrainingGrid(0));
  std::erase_if(layers, [](const Layer& x) {
    return 4 * x.n * (x.c * x.w * x.w + x.k * x.p * x.p) > kMostOperatorBytes;
  });
  return layers;
}

Result<std::vector<Layer>> ReadGrid(std::string_view text) {
  Grid grid;
  std::string taken;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const CsvRow row = WordsOf(line.substr(0, line.find('#')), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!row.fields.empty()) ATTUNE_RETURN_IF_ERROR(TakeLine(row, grid, taken));
  }
  double layers = 1;
  for (const std::string_view name : {"N", "C", "W", "K", "f", "s", "p"}) {
    const size_t count = ValuesOf(grid, name)->size();
    if (count == 0) {
      return InvalidArgument(fmt::format(
          "The grid has no line of {}. It needs one of C, W, K and f each, as in 'C 16 64'.",
          name));
    }
    layers *= static_cast<double>(count);
  }
  if (layers > static_cast<double>(kMostLayers)) {
    return InvalidArgument(
        fmt::format("The grid has {:.0f} layers, where {} are most.", layers, kMostLayers));
  }
  return LayersOf(grid);
}

}  // namespace attune::seer
