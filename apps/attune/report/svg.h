// Drawing with inline SVG: marks in CSS classes, so that the page's style decides colours.
#pragma once

#include <string>
#include <string_view>

namespace attune {

// Where a rectangle is, and how large.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;  // Below 0 it counts as 0, as the height.
  double height = 0;
};

// How a text looks.
struct LabelStyle {
  std::string_view css;
  std::string_view anchor = "start";  // Or "middle" or "end".
  std::string_view tip = {};
};

// An image that scales with the page. Coordinates are CSS pixels at full width.
class Svg {
 public:
  // `label` is the text for screen readers.
  Svg(double width, double height, std::string_view label);

  // `css` are class names; `tip` shows on hovering, none if empty. Texts are escaped here.
  void Rect(const Box& box, std::string_view css, std::string_view tip = {});
  void Line(double x1, double y1, double x2, double y2, std::string_view css);
  void Circle(double x, double y, double radius, std::string_view css, std::string_view tip = {});
  // `y` is the base line.
  void Label(double x, double y, std::string_view text, const LabelStyle& style);

  std::string Finish() const { return body_ + "</svg>\n"; }

 private:
  void Close(std::string_view element, std::string_view tip);

  std::string body_;
};

// Maps values to positions.
class Scale {
 public:
  static Scale Linear(double low, double high, double from, double to) {
    return Scale(low, high, from, to, false);
  }
  // REQUIRES: 0 < low < high.
  static Scale Log(double low, double high, double from, double to) {
    return Scale(low, high, from, to, true);
  }
  // Values outside of [low, high] are moved to the nearer end.
  double At(double value) const;

 private:
  Scale(double low, double high, double from, double to, bool log);

  double low_;
  double high_;
  double from_;
  double to_;
  bool log_;
};

}  // namespace attune
