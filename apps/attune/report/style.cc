#include "apps/attune/report/style.h"

namespace attune {

std::string_view ReportStyle() {
  return R"css(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1c1f24; --soft: #5d6570; --rule: #d9dde3; --wash: #f5f6f8;
  --quiet: #b4bac4; --accent: #2458c5; --good: #1a7f37; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181d; --ink: #e4e7ec; --soft: #9aa3af; --rule: #323842; --wash: #1d2128;
    --quiet: #596270; --accent: #86aaff; --good: #57c978; --bad: #ff8a80;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", sans-serif;
}
main { max-width: 1040px; margin: 0 auto; padding: 40px 28px 80px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 20px; margin: 52px 0 4px; }
h3 { font-size: 14px; margin: 0 0 2px; overflow-wrap: anywhere; }
p { margin: 4px 0 12px; max-width: 74ch; }
.soft { color: var(--soft); }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 24px 0 8px; }
.tile { flex: 1 1 150px; padding: 14px 16px; background: var(--wash); border-radius: 8px; }
.tile b { display: block; font-size: 26px; font-weight: 650; line-height: 1.2;
          font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 2px solid var(--rule);
     padding: 6px 10px 6px 0; white-space: nowrap; }
td { border-bottom: 1px solid var(--rule); padding: 5px 10px 5px 0; vertical-align: top; }
tbody tr:hover { background: var(--wash); }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font: 12px/1.45 ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace;
       overflow-wrap: anywhere; }
.winners td:nth-child(3) { min-width: 330px; }
.good { color: var(--good); } .bad { color: var(--bad); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 8px 0 10px; font-size: 13px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; }
.spaces { display: grid; grid-template-columns: repeat(auto-fill, minmax(290px, 1fr)); gap: 14px; }
.space { padding: 12px 14px; background: var(--wash); border-radius: 8px; }
.space p { font-size: 13px; margin: 0; }
details summary { cursor: pointer; color: var(--soft); margin: 8px 0; }
svg { display: block; width: 100%; height: auto; margin: 6px 0; }
svg text { font-family: inherit; fill: var(--ink); }
text.row { font-size: 11.5px; } text.value { font-size: 11.5px; font-variant-numeric: tabular-nums; }
text.tick { font-size: 11px; fill: var(--soft); }
line.grid, line.lane { stroke: var(--rule); } line.lane { stroke-dasharray: 1 4; }
line.one { stroke: var(--soft); } line.axis { stroke: var(--soft); }
line.best { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 4 3; }
line.whisker { stroke: var(--ink); stroke-width: 1.5; }
.dot { fill-opacity: 0.75; } .ring { stroke: var(--ink); stroke-width: 1.6; }
rect.quiet, circle.quiet { fill: var(--quiet); } line.front { stroke: #4269d0; stroke-width: 1.5; }
.c0 { fill: #4269d0; background: #4269d0; } .c1 { fill: #efb118; background: #efb118; }
.c2 { fill: #ff725c; background: #ff725c; } .c3 { fill: #3ca951; background: #3ca951; }
.c4 { fill: #a463f2; background: #a463f2; } .c5 { fill: #6cc5b0; background: #6cc5b0; }
.c6 { fill: #ff8ab7; background: #ff8ab7; } .c7 { fill: #9c6b4e; background: #9c6b4e; }
.c8 { fill: #97bbf5; background: #97bbf5; } .c9 { fill: #b59d00; background: #b59d00; }
.cx { fill: #9498a0; background: #9498a0; }
@media print { main { max-width: none; padding: 0; } .wide { overflow: visible; } }
)css";
}

}  // namespace attune
