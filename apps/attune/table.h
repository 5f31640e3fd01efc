// A table of text for people: aligned columns, one line for each row, or more where a terminal is
// narrow.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/terminal.h"

namespace attune {

struct Column {
  enum class Align { kLeft, kRight };
  // The treatment of a column on a terminal that is too narrow for the table. In a pipe nothing is
  // ever cut, moved or left out.
  enum class Fit {
    kWhole,    // Stays as it is.
    kCut,      // Cut with an ellipsis, cells that are longer than most of their column first.
    kBelow,    // Whole, on lines of its own below the row: what must be told apart by its end.
    kLeftOut,  // Left out where the usual cells of another column would be cut, the first such
               // column before the others. A last line names what is left out.
  };
  std::string title;
  Align align = Align::kLeft;
  Fit fit = Fit::kWhole;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns. `colour` paints the whole row.
  void AddRow(std::vector<std::string> cells, Colour colour = Colour::kPlain);
  bool empty() const { return rows_.empty(); }

  // Titles, then the rows, each line ended by a newline and without trailing blanks. `width` limits
  // the lines of a terminal and is ignored elsewhere.
  std::string Render(const Screen& screen, int width) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Colour colour;
  };
  // The columns beside each other, in order, and their widths; the columns below; the columns left
  // out.
  struct Layout {
    std::vector<size_t> beside;
    std::vector<size_t> widths;  // For `beside`.
    std::vector<size_t> below;
    std::vector<size_t> left_out;
    size_t limit = 0;  // Columns in a line; 0 if unlimited.
  };
  Layout Arrange(const Screen& screen, int width) const;
  // The width that fits the longest cell of `column`.
  size_t FullWidth(size_t column) const;
  // The width that fits three quarters of the cells of `column`: a few long ones give way first.
  size_t UsualWidth(size_t column) const;
  std::vector<std::string> RenderLines(const std::vector<std::string>& cells,
                                       const Layout& layout) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace attune
