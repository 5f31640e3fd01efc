#include "apps/attune/table.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace attune {
namespace {

constexpr size_t kGap = 2;         // Blanks between columns.
constexpr size_t kNarrowest = 12;  // A shrinking column keeps at least this much.

// Takes columns from the widest of `widths` that is above its floor, until all fit into `limit`.
void ShrinkTowards(const std::vector<size_t>& floors, size_t limit, std::vector<size_t>& widths) {
  const size_t gaps = widths.empty() ? 0 : kGap * (widths.size() - 1);
  size_t total = std::accumulate(widths.begin(), widths.end(), gaps);
  while (total > limit) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] <= floors[i]) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
    --total;
  }
}

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
  const auto limit = static_cast<size_t>(std::max(width, 0));
  std::vector<size_t> usual(widths.size());
  std::vector<size_t> least(widths.size());
  for (size_t i = 0; i < widths.size(); ++i) {
    least[i] = columns_[i].may_shrink ? std::min(widths[i], kNarrowest) : widths[i];
    usual[i] = columns_[i].may_shrink ? std::max(UsualWidth(i), least[i]) : widths[i];
  }
  ShrinkTowards(usual, limit, widths);
  ShrinkTowards(least, limit, widths);
  return widths;
}

size_t Table::UsualWidth(size_t column) const {
  std::vector<size_t> cells;
  for (const Row& row : rows_) cells.push_back(DisplayWidth(row.cells[column]));
  if (cells.empty()) return 0;
  const size_t rank = (cells.size() - 1) * 3 / 4;
  std::nth_element(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(rank), cells.end());
  return std::max(cells[rank], DisplayWidth(columns_[column].title));
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
