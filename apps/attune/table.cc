#include "apps/attune/table.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace attune {
namespace {

constexpr size_t kGap = 2;         // Blanks between columns.
constexpr size_t kNarrowest = 12;  // A shrinking column keeps at least this much.

}  // namespace

void Table::AddRow(std::vector<std::string> cells, Colour colour) {
  assert(cells.size() == columns_.size());
  rows_.push_back({std::move(cells), colour});
}

std::vector<size_t> Table::Widths(const Screen& screen, int width) const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.title));
  for (const Row& row : rows_) {
    for (size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row.cells[i]));
    }
  }
  if (!screen.is_terminal) return widths;
  size_t total = std::accumulate(widths.begin(), widths.end(), size_t{0}) +
                 kGap * (columns_.empty() ? 0 : columns_.size() - 1);
  while (total > static_cast<size_t>(std::max(width, 0))) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].may_shrink || widths[i] <= kNarrowest) continue;
      if (widest == columns_.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
    --total;
  }
  return widths;
}

std::string Table::RenderLine(const std::vector<std::string>& cells,
                              const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = Shortened(cells[i], widths[i]);
    const std::string blanks(widths[i] - DisplayWidth(cell), ' ');
    if (i > 0) line.append(kGap, ' ');
    line += columns_[i].align == Column::Align::kRight ? blanks + cell : cell + blanks;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string Table::Render(const Screen& screen, int width) const {
  const std::vector<size_t> widths = Widths(screen, width);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text = Paint(screen, Colour::kBold, RenderLine(titles, widths)) + "\n";
  for (const Row& row : rows_) {
    text += Paint(screen, row.colour, RenderLine(row.cells, widths)) + "\n";
  }
  return text;
}

}  // namespace attune
