#include "apps/attune/program_runtime.h"

#include <utility>

#include <fmt/format.h>

#include "apps/attune/labels.h"
#include "apps/attune/terminal.h"
#include "attune/base/process_variables.h"
#include "runtime/settings.h"

namespace attune {
namespace {

std::string BecauseText(const Option& option) {
  return fmt::format("{}: {}", Name(option.origin), Printable(option.because));
}

}  // namespace

Result<ProgramRuntime> ProgramRuntime::Make(const std::string& device,
                                            const std::string& database) {
  attune_options given = ATTUNE_OPTIONS_INIT;
  given.device = device.c_str();
  if (!database.empty()) given.database = database.c_str();
  ATTUNE_ASSIGN_OR_RETURN(RuntimeOptions options, ReadSettings(&given, VariablesOfProcess()));
  options.prints_summary = false;               // There are no calls to summarize.
  options.message = [](const std::string&) {};  // The notes of an answer say the same.
  ProgramRuntime program;
  auto runtime = Runtime::Create(options);
  if (runtime.ok()) {
    program.runtime_ = *std::move(runtime);
    // A program that starts does not wait longer either.
    (void)program.runtime_->WaitIdle(kLongestLook);
  } else if (runtime.error().code() == StatusCode::kInvalidArgument) {
    return runtime.error();
  } else {
    program.made_ = runtime.error();
  }
  return program;
}

Served ProgramRuntime::Ask(const Problem& problem) const {
  Served served;
  if (runtime_ == nullptr) {
    served.reason = made_.message();
    return served;
  }
  auto explanation = Explain(*runtime_, problem, kNoWorkspaceLimit);
  if (!explanation.ok()) {
    served.reason = explanation.error().message();
    return served;
  }
  served.json = Json::parse(ExplanationJson(*runtime_, *explanation), nullptr, false);
  if (!explanation->serves.has_value()) {
    served.reason = fmt::format("{} has to be compiled first, in the background.",
                                Text(explanation->preferred().candidate));
  }
  served.explanation = *std::move(explanation);
  return served;
}

std::string ServesText(const Served& served) {
  if (!served.reason.empty())
    return fmt::format("Serves   nothing: {}\n", Printable(served.reason));
  const Option& serves = *served.explanation->serves;
  std::string text =
      fmt::format("Serves   {}\n         {}\n", Text(serves.candidate), BecauseText(serves));
  if (served.explanation->problem.op().PromisesSpecialValues() && !serves.keeps_special_values) {
    text += "         may lose NaN and infinity: 'attune blas' and 'attune cublas' skip it\n";
  }
  const Option& preferred = served.explanation->preferred();
  if (preferred.candidate == serves.candidate) return text;
  return text + fmt::format("         until {} is ready ({})\n", Text(preferred.candidate),
                            BecauseText(preferred));
}

}  // namespace attune
