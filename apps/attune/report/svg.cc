#include "apps/attune/report/svg.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "apps/attune/report/markup.h"

namespace attune {

Svg::Svg(double width, double height, std::string_view label)
    : body_(fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n",
                        width, height, HtmlEscaped(label))) {}

void Svg::Close(std::string_view element, std::string_view tip) {
  body_ +=
      tip.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", HtmlEscaped(tip), element);
}

void Svg::Rect(const Box& box, std::string_view css, std::string_view tip) {
  body_ +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"",
                  box.x, box.y, std::max(box.width, 0.0), std::max(box.height, 0.0), css);
  Close("rect", tip);
}

void Svg::Line(double x1, double y1, double x2, double y2, std::string_view css) {
  body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"",
                       x1, y1, x2, y2, css);
  Close("line", {});
}

void Svg::Circle(double x, double y, double radius, std::string_view css, std::string_view tip) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"{}\"", x, y,
                       radius, css);
  Close("circle", tip);
}

void Svg::Label(double x, double y, std::string_view text, const LabelStyle& style) {
  const std::string title =
      style.tip.empty() ? "" : fmt::format("<title>{}</title>", HtmlEscaped(style.tip));
  body_ +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}{}</text>\n",
                  x, y, style.css, style.anchor, HtmlEscaped(text), title);
}

Scale::Scale(double low, double high, double from, double to, bool log)
    : low_(log ? std::log(low) : low),
      high_(log ? std::log(high) : high),
      from_(from),
      to_(to),
      log_(log) {
  assert(low < high);
}

double Scale::At(double value) const {
  const double place = log_ ? std::log(std::max(value, 1e-300)) : value;
  const double share = std::clamp((place - low_) / (high_ - low_), 0.0, 1.0);
  return from_ + share * (to_ - from_);
}

}  // namespace attune
