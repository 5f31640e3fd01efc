// A table of text for people: aligned columns, one line for each row.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/terminal.h"

namespace attune {

struct Column {
  enum class Align { kLeft, kRight };
  std::string title;
  Align align = Align::kLeft;
  // On a terminal that is too narrow, columns that may shrink are cut with an ellipsis, cells that
  // are longer than most of their column before the others. In a pipe nothing is ever cut.
  bool may_shrink = false;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns. `colour` paints the whole row.
  void AddRow(std::vector<std::string> cells, Colour colour = Colour::kPlain);
  bool empty() const { return rows_.empty(); }

  // Title line, then the rows, each ended by a newline and without trailing blanks. `width` limits
  // the lines of a terminal and is ignored elsewhere.
  std::string Render(const Screen& screen, int width) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Colour colour;
  };
  std::vector<size_t> Widths(const Screen& screen, int width) const;
  // What three quarters of the cells of `column` fit into: a few long ones give way first.
  size_t UsualWidth(size_t column) const;
  std::string RenderLine(const std::vector<std::string>& cells,
                         const std::vector<size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace attune
