// attune problems: lists the problems in the database.

#include <map>

#include <fmt/format.h>

#include "apps/attune/choices.h"
#include "apps/attune/json_text.h"
#include "apps/attune/table.h"
#include "apps/attune/verbs.h"

namespace attune {
namespace {

constexpr size_t kShownReasons = 10;

struct ProblemsOptions {
  ProblemSelection selection;
  bool json = false;
};

Json ProblemsJson(const std::vector<TaggedProblem>& problems, SupportCheck& support) {
  Json list = Json::array();
  for (const TaggedProblem& tagged : problems) {
    const Status supported = support.Check(tagged.problem);
    list.push_back({{"problem", Text(tagged.problem)},
                    {"operator", OperatorName(tagged.problem)},
                    {"weight", tagged.weight},
                    {"flops", Flops(tagged.problem)},
                    {"supported", supported.ok()},
                    {"reason", supported.message()}});
  }
  return list;
}

void PrintProblems(const std::vector<TaggedProblem>& problems, SupportCheck& support, Output& out) {
  Table table({{"weight", Column::Align::kRight}, {"state"}, {"problem"}});
  std::map<std::string, size_t> reasons;
  size_t unsupported = 0;
  for (const TaggedProblem& tagged : problems) {
    const Status supported = support.Check(tagged.problem);
    table.AddRow({fmt::format("{}", tagged.weight), supported.ok() ? "solvable" : "unsupported",
                  Text(tagged.problem)},
                 supported.ok() ? Colour::kPlain : Colour::kYellow);
    if (supported.ok()) continue;
    ++unsupported;
    ++reasons[supported.message()];
  }
  out.Print(table.Render(out.screen(), out.width()));
  if (unsupported == 0) return;
  out.Print(
      fmt::format("\n{} of {} problems are unsupported here:\n", unsupported, problems.size()));
  size_t shown = 0;
  for (const auto& [reason, count] : reasons) {
    if (++shown > kShownReasons) break;
    out.Print(fmt::format("  {}: {}\n", count, Printable(reason)));
  }
  if (reasons.size() > kShownReasons) out.Print("  (--json has the reason of every one)\n");
}

Result<int> RunProblems(Application& application, const ProblemsOptions& options) {
  std::vector<TaggedProblem> problems;
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  const ProblemSelection& selection = options.selection;
  if (selection.tag.empty() && selection.model.empty() && selection.session.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(problems, store->Problems(""));
  } else {
    ATTUNE_ASSIGN_OR_RETURN(problems, Resolve(application, selection));
  }
  SupportCheck support(application.backends().list);
  if (options.json) {
    application.out().Print(Dump(ProblemsJson(problems, support)));
  } else if (problems.empty()) {
    application.out().Print(
        "The database has no problems yet. 'attune import FILE --tag TAG' brings some.\n");
  } else {
    PrintProblems(problems, support, application.out());
  }
  return kExitDone;
}

}  // namespace

void AddProblemsVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ProblemsOptions>();
  CLI::App* verb = AddVerb(program, "problems", "List problems in the order of their import",
                           "  attune problems --tag resnet50\n"
                           "  attune problems --json");
  AddListOptions(*verb, options->selection, invocation);
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunProblems(application, *options);
    };
  });
}

}  // namespace attune
