#include "apps/attune/table.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr size_t kGap = 2;         // Blanks between columns.
constexpr size_t kNarrowest = 12;  // A column that is cut keeps at least this much.
constexpr size_t kIndent = 4;      // For lines below a row.

size_t LineWidth(const std::vector<size_t>& widths) {
  const size_t gaps = widths.empty() ? 0 : kGap * (widths.size() - 1);
  return std::accumulate(widths.begin(), widths.end(), gaps);
}

// Takes columns from the widest of `widths` that is above its floor, until all fit into `limit`.
void ShrinkTowards(const std::vector<size_t>& floors, size_t limit, std::vector<size_t>& widths) {
  for (size_t total = LineWidth(widths); total > limit; --total) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] <= floors[i]) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

// `text` in lines of at most `width` columns, broken behind commas as far as there are any. Nothing
// is left out.
std::vector<std::string> Wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (DisplayWidth(text) > width) {
    // Columns are counted in characters, the break is sought in bytes.
    size_t end = 0;
    size_t after_comma = 0;
    for (size_t columns = 0; columns < width; ++columns) {
      const bool is_comma = text[end] == ',';
      end += std::max<size_t>(1, Utf8Length(text.substr(end)));
      if (is_comma) after_comma = end;
    }
    const size_t length = after_comma > 0 ? after_comma : end;
    lines.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  lines.emplace_back(text);
  return lines;
}

}  // namespace

void Table::AddRow(std::vector<std::string> cells, Colour colour) {
  assert(cells.size() == columns_.size());
  rows_.push_back({std::move(cells), colour});
}

Table::Layout Table::Arrange(const Screen& screen, int width) const {
  Layout layout;
  for (size_t i = 0; i < columns_.size(); ++i) {
    layout.beside.push_back(i);
    layout.widths.push_back(FullWidth(i));
  }
  if (!screen.is_terminal) return layout;
  layout.limit = std::max(static_cast<size_t>(std::max(width, 0)), kIndent + kNarrowest);
  if (LineWidth(layout.widths) <= layout.limit) return layout;
  layout.beside.clear();
  std::vector<size_t> usual;
  std::vector<size_t> least;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].fit == Column::Fit::kBelow) {
      layout.below.push_back(i);
      continue;
    }
    const size_t full = FullWidth(i);
    const bool is_cut = columns_[i].fit == Column::Fit::kCut;
    layout.beside.push_back(i);
    least.push_back(is_cut ? std::min(full, kNarrowest) : full);
    usual.push_back(is_cut ? std::max(UsualWidth(i), least.back()) : full);
  }
  for (size_t at = 0; at < layout.beside.size() && LineWidth(usual) > layout.limit;) {
    if (columns_[layout.beside[at]].fit != Column::Fit::kLeftOut) {
      ++at;
      continue;
    }
    const auto offset = static_cast<std::ptrdiff_t>(at);
    layout.left_out.push_back(layout.beside[at]);
    layout.beside.erase(layout.beside.begin() + offset);
    usual.erase(usual.begin() + offset);
    least.erase(least.begin() + offset);
  }
  layout.widths.clear();
  for (const size_t i : layout.beside) layout.widths.push_back(FullWidth(i));
  ShrinkTowards(usual, layout.limit, layout.widths);
  ShrinkTowards(least, layout.limit, layout.widths);
  return layout;
}

size_t Table::FullWidth(size_t column) const {
  size_t width = DisplayWidth(columns_[column].title);
  for (const Row& row : rows_) width = std::max(width, DisplayWidth(row.cells[column]));
  return width;
}

size_t Table::UsualWidth(size_t column) const {
  std::vector<size_t> cells;
  for (const Row& row : rows_) cells.push_back(DisplayWidth(row.cells[column]));
  if (cells.empty()) return 0;
  const size_t rank = (cells.size() - 1) * 3 / 4;
  std::nth_element(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(rank), cells.end());
  return std::max(cells[rank], DisplayWidth(columns_[column].title));
}

std::vector<std::string> Table::RenderLines(const std::vector<std::string>& cells,
                                            const Layout& layout) const {
  std::string line;
  for (size_t i = 0; i < layout.beside.size(); ++i) {
    const size_t column = layout.beside[i];
    const std::string cell = Shortened(cells[column], layout.widths[i]);
    const std::string blanks(layout.widths[i] - DisplayWidth(cell), ' ');
    if (i > 0) line.append(kGap, ' ');
    line += columns_[column].align == Column::Align::kRight ? blanks + cell : cell + blanks;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  std::vector<std::string> lines = {line};
  for (const size_t column : layout.below) {
    if (cells[column].empty()) continue;
    for (const std::string& part : Wrapped(cells[column], layout.limit - kIndent)) {
      lines.push_back(std::string(kIndent, ' ') + part);
    }
  }
  return lines;
}

std::string Table::Render(const Screen& screen, int width) const {
  const Layout layout = Arrange(screen, width);
  std::string text;
  const auto add = [&](const std::vector<std::string>& cells, Colour colour) {
    for (const std::string& line : RenderLines(cells, layout)) {
      text += Paint(screen, colour, line) + "\n";
    }
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  add(titles, Colour::kBold);
  for (const Row& row : rows_) add(row.cells, row.colour);
  std::string left_out;
  for (const size_t column : layout.left_out) {
    left_out += (left_out.empty() ? "" : ", ") + columns_[column].title;
  }
  if (!left_out.empty()) {
    text += Paint(screen, Colour::kDim,
                  fmt::format("(Left out, because the terminal has {} columns: {}.)", width,
                              left_out)) +
            "\n";
  }
  return text;
}

}  // namespace attune
