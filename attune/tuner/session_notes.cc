#include "attune/tuner/session_notes.h"

#include <cstddef>

#include <fmt/format.h>

#include "attune/base/text.h"

namespace attune {
namespace {

// A compiler's output can be pages; its beginning names the first mistake.
constexpr size_t kMostSaidBytes = 400;

// Returns the beginning of `message`, without the end of its last line or sentence.
std::string WithoutEnd(const std::string& message) {
  std::string text(FirstBytes(message, kMostSaidBytes));
  if (text.size() < message.size()) return text + "...";
  return text.substr(0, text.find_last_not_of(" \n\r\t.") + 1);
}

}  // namespace

std::string UnsteadyNote(const Choice& choice) {
  const Measurement& of_default = choice.default_measurement;
  const bool is_default = RelativeSpread(of_default) >= RelativeSpread(choice.measurement);
  return fmt::format(
      "The interval of {} is ±{:.0f} %, wider than the ±{:.0f} % of an idle machine: something "
      "else ran beside, or each problem has too little time.",
      Text(is_default ? choice.default_candidate : choice.candidate),
      100 * RelativeSpread(is_default ? of_default : choice.measurement), 100 * kMostSteadySpread);
}

std::string HeldBackNote(const SetConditions& conditions) {
  return fmt::format(
      "The device held its clock back around the final (throttled: {}). Candidates ran in the same "
      "rounds, so their order holds, and each of them may be faster at full clock.",
      HeldBackText(conditions));
}

std::string SilenceNote(std::string_view reason) {
  return fmt::format(
      "Asking the device for its clocks and its power ended the child that asked ({}). No "
      "candidate is to blame. It is not asked again in this run, whose sets are recorded without "
      "them; another driver or another run may have them.",
      reason);
}

std::string ImpossibleConditionsNote(std::string_view reason) {
  return fmt::format(
      "What the device said of its clocks and its power is impossible and was not recorded: {} "
      "Times and choice are as good without it.",
      reason);
}

std::string StandsNote(const Choice& standing) {
  return fmt::format(
      "What measurement set {} decided stays: the evidence of this one is worse. Its final had too "
      "little time to be as sure, or did not reach {}; more time for each problem helps.",
      standing.set_id, Text(standing.candidate));
}

std::string SlowToCreateNote(const Candidate& candidate, int64_t load_ns, int64_t per_problem_ns) {
  return fmt::format(
      "{} took {:.1f} s to create, longer than the {:.1f} s of this problem, and each process that "
      "times it would create it again. It is left out; more time for each problem lets it take "
      "part.",
      Text(candidate), static_cast<double>(load_ns) / 1e9,
      static_cast<double>(per_problem_ns) / 1e9);
}

std::string LostDefaultNote(const Candidate& candidate, bool was_late) {
  return fmt::format("The default {} {}; another candidate is the baseline.", Text(candidate),
                     was_late ? "was not ready in time" : "failed");
}

std::string TakenOverNote(int64_t count, int64_t searched_ns) {
  return fmt::format(
      "{} candidates were tried by a run that was cut off, and not again. Its search counts with "
      "{:.1f} s of the time of the problem.",
      count, static_cast<double>(searched_ns) / 1e9);
}

std::string NothingTimedNote(const TuneReport& report) {
  std::string why;
  for (const auto& [kind, count] : report.failures) {
    why += fmt::format("{}{} {}", why.empty() ? "" : ", ", count, Name(kind));
  }
  if (report.quarantined > 0) {
    why += fmt::format(
        "{}{} left out because of what an earlier run met ('attune tune --retry-quarantined' tries "
        "them again)",
        why.empty() ? "" : ", ", report.quarantined);
  }
  if (why.empty()) return "No candidate could be timed: none was ready in time.";
  if (!report.first_failure.empty()) {
    why += fmt::format(". The first said: {}", WithoutEnd(report.first_failure));
  }
  return fmt::format("No candidate could be timed: {}. 'attune explain' tells of each.", why);
}

std::string LostTimelineNote(const Status& status) {
  return fmt::format("The timeline of this tuning was not kept: {}", status.message());
}

std::string LostBaselineNote(const Candidate& baseline) {
  return fmt::format("The baseline {} failed while it was timed; the next one took its place.",
                     Text(baseline));
}

}  // namespace attune
