#include "apps/attune/progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/labels.h"

namespace attune {
namespace {

constexpr int kBarColumns = 20;

std::string Bar(const RunProgress& progress) {
  const size_t count = std::max<size_t>(progress.problem_count, 1);
  const auto filled =
      static_cast<size_t>(kBarColumns) * std::min(progress.problem_index, count) / count;
  return fmt::format("[{}{}]", std::string(filled, '#'), std::string(kBarColumns - filled, '.'));
}

std::string StageText(const TuneProgress& tune) {
  if (tune.stage == TuneProgress::Stage::kReference) {
    return fmt::format("{}: {:.0f}%", Name(tune.stage), 100 * tune.reference_share);
  }
  if (tune.stage == TuneProgress::Stage::kWait) {
    return fmt::format("{}: another process measures on this machine", Name(tune.stage));
  }
  std::string text = fmt::format("{}: {} right", Name(tune.stage), tune.qualified);
  if (tune.failed > 0) text += fmt::format(", {} failed", tune.failed);
  if (tune.timed > 0) text += fmt::format(", {} timed", tune.timed);
  return text;
}

std::string TimeText(const RunProgress& progress) {
  std::string text = FormatWait(progress.elapsed_ns);
  if (progress.eta_ns > 0) text += fmt::format(", {} left", FormatWait(progress.eta_ns));
  return text;
}

std::string OutcomeText(const ProblemOutcome& outcome) {
  const std::string label = Label(outcome.problem);
  if (outcome.kind != ProblemOutcome::Kind::kTuned) {
    return fmt::format("{}: {}{}{}", label, Name(outcome.kind), outcome.message.empty() ? "" : ": ",
                       Printable(outcome.message));
  }
  if (!outcome.report.choice) return label + ": no candidate could be timed";
  const Choice& choice = *outcome.report.choice;
  return fmt::format("{}: {} {}, {}{}{}{}", label, Text(choice.candidate),
                     FormatTime(choice.measurement.median_ns),
                     choice.provenance == Provenance::kDefault
                         ? "the default stays"
                         : FormatSpeedup(choice.speedup) + " over the default",
                     choice.set_id == outcome.report.set_id ? "" : ", as measured before",
                     outcome.message.empty() ? "" : "; ", outcome.message);
}

}  // namespace

std::string LiveLine(const RunProgress& progress, int width) {
  const std::string head =
      fmt::format("{} {}/{} ", Bar(progress), progress.problem_index, progress.problem_count);
  const std::string tail = "  " + TimeText(progress);
  std::string middle = progress.problem == nullptr ? "" : Label(*progress.problem);
  middle += "  " + StageText(progress.tune);
  // One column stays free: a full line makes some terminals wrap.
  const int room = width - 1 - static_cast<int>(head.size() + tail.size());
  if (room < 8) return Shortened(head + tail, static_cast<size_t>(std::max(width - 1, 0)));
  return head + Shortened(middle, static_cast<size_t>(room)) + tail;
}

std::string PlainLine(const RunProgress& progress) {
  const std::string head =
      fmt::format("[{}/{}] {}", progress.problem_index, progress.problem_count, TimeText(progress));
  if (progress.finished != nullptr) return head + ": " + OutcomeText(*progress.finished);
  const std::string label = progress.problem == nullptr ? "" : Label(*progress.problem);
  return head + ": " + label + ", " + StageText(progress.tune);
}

void ProgressReporter::Show(const RunProgress& progress) {
  const int64_t now_ns = clock_.NowNs();
  if (!began_) last_ns_ = now_ns - kAliveEveryNs;
  began_ = true;
  if (err_.screen().is_terminal) {
    ShowLive(progress, now_ns);
  } else {
    ShowPlain(progress, now_ns);
  }
}

void ProgressReporter::ShowLive(const RunProgress& progress, int64_t now_ns) {
  if (progress.finished == nullptr && now_ns - last_ns_ < kRedrawEveryNs) return;
  last_ns_ = now_ns;
  live_line_shown_ = true;
  // Erase to the end of the line, because the line before may have been longer.
  err_.Print(fmt::format("\r{}\x1b[K", LiveLine(progress, err_.width())));
  err_.Flush();
}

void ProgressReporter::ShowPlain(const RunProgress& progress, int64_t now_ns) {
  const bool last =
      progress.finished != nullptr && progress.problem_index == progress.problem_count;
  const int64_t interval_ns = progress.finished != nullptr ? kFinishedEveryNs : kAliveEveryNs;
  const bool waits = progress.tune.stage == TuneProgress::Stage::kWait;
  const bool is_news = waits && !has_said_wait_;
  has_said_wait_ |= waits;
  if (!last && !is_news && now_ns - last_ns_ < interval_ns) return;
  last_ns_ = now_ns;
  err_.Print(PlainLine(progress) + "\n");
  err_.Flush();
}

void ProgressReporter::Clear() {
  if (!live_line_shown_) return;
  live_line_shown_ = false;
  err_.Print("\r\x1b[K");
  err_.Flush();
}

}  // namespace attune
