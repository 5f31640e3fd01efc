// attune miopen diff: the changes from one database to another.

#include <fmt/format.h>

#include "apps/attune/labels.h"
#include "extensions/miopen/databases/difference.h"
#include "extensions/miopen/miopen_verbs.h"
#include "extensions/miopen/output.h"

namespace attune::miopen {
namespace {

constexpr size_t kShown = 5;

struct DiffOptions {
  std::string before;
  std::string after;
  bool all = false;
  bool json = false;
};

Json ToJson(const std::vector<FindChange>& changes) {
  Json list = Json::array();
  for (const FindChange& change : changes) {
    list.push_back({{"key", change.key},
                    {"solver_before", change.solver_before},
                    {"solver_after", change.solver_after},
                    {"before_ms", change.before_ms},
                    {"after_ms", change.after_ms}});
  }
  return list;
}

Json ToJson(const std::vector<PerfChange>& changes) {
  Json list = Json::array();
  for (const PerfChange& change : changes) {
    list.push_back({{"key", change.key},
                    {"solver", change.solver},
                    {"before", change.before},
                    {"after", change.after}});
  }
  return list;
}

Json ToJson(const FindDifference& difference) {
  return {{"new", difference.added},
          {"gone", difference.removed},
          {"faster", ToJson(difference.faster)},
          {"slower", ToJson(difference.slower)},
          {"other_solver", ToJson(difference.other_solver)},
          {"unchanged", difference.unchanged},
          {"speedup", difference.speedup}};
}

Json ToJson(const PerfDifference& difference) {
  return {{"new", ToJson(difference.added)},
          {"gone", ToJson(difference.removed)},
          {"changed", ToJson(difference.changed)},
          {"unchanged", difference.unchanged}};
}

class Printer {
 public:
  Printer(Output& out, bool all) : out_(out), all_(all) {}

  // "     12 faster", and the first of them.
  template <class Items, class Describe>
  void Print(std::string_view what, const Items& items, const Describe& describe) {
    out_.Print(fmt::format("{:>9}  {}\n", items.size(), what));
    size_t printed = 0;
    for (const auto& item : items) {
      if (!all_ && printed == kShown) break;
      ++printed;
      out_.Print(fmt::format("           {}\n", describe(item)));
    }
    if (printed < items.size()) {
      out_.Print(fmt::format("           and {} more\n", items.size() - printed));
    }
  }

 private:
  Output& out_;
  bool all_;
};

std::string ChangeText(const FindChange& change) {
  return fmt::format("{}: {} {} ms, then {} {} ms ({})", change.key,
                     Printable(change.solver_before), change.before_ms,
                     Printable(change.solver_after), change.after_ms,
                     FormatSpeedup(change.before_ms / change.after_ms));
}

std::string KeyText(const std::string& key) { return key; }

void Print(const FindDifference& difference, Output& out, bool all) {
  Printer printer(out, all);
  printer.Print("new", difference.added, KeyText);
  printer.Print("gone", difference.removed, KeyText);
  printer.Print("faster", difference.faster, ChangeText);
  printer.Print("slower", difference.slower, ChangeText);
  printer.Print("as fast by another solver", difference.other_solver, ChangeText);
  out.Print(fmt::format("{:>9}  unchanged\nOn average {} as fast as before.\n",
                        difference.unchanged, FormatSpeedup(difference.speedup)));
}

void Print(const PerfDifference& difference, Output& out, bool all) {
  Printer printer(out, all);
  const auto text = [](const PerfChange& change) {
    return fmt::format("{}: {} {}", change.key, Printable(change.solver),
                       Printable(change.before.empty() ? change.after : change.before));
  };
  printer.Print("new", difference.added, text);
  printer.Print("gone", difference.removed, text);
  printer.Print("with other parameters", difference.changed, [](const PerfChange& change) {
    return fmt::format("{}: {} {}, then {}", change.key, Printable(change.solver),
                       Printable(change.before), Printable(change.after));
  });
  out.Print(fmt::format("{:>9}  unchanged\n", difference.unchanged));
}

// A kernel db as a perf-db of hashes: both are compared by changed entries.
PerfDb HashesOf(const KernelList& kernels) {
  PerfDb db;
  for (const KernelEntry& kernel : kernels) {
    db.records.push_back({kernel.name + " " + kernel.options, {{kernel.name, kernel.hash}}, 0});
  }
  return db;
}

// The GPU of each; empty if unknown.
struct Targets {
  std::string before;
  std::string after;
};

// `backends`: the MIOpen backend of each; empty if unknown.
void WarnOfTwoGpus(DatabaseKind kind, const Targets& targets, const Targets& backends,
                   const DiffOptions& options, Output& err) {
  FileName after;
  after.kind = kind;
  after.target = targets.after;
  if (!backends.before.empty() && !backends.after.empty() && backends.before != backends.after) {
    err.Print(fmt::format(
        "'{}' is of MIOpen on {} and '{}' of MIOpen on {}: what follows is the difference of two "
        "libraries of kernels, no change of one.\n",
        Printable(options.before), backends.before, Printable(options.after), backends.after));
  }
  if (CheckGpu(after, options.after, {options.before, targets.before}).ok()) return;
  err.Print(fmt::format(
      "'{}' is of {} and '{}' of {}: what follows is the difference of two GPUs, no change of "
      "one.\n",
      Printable(options.before), targets.before, Printable(options.after), targets.after));
}

template <class DifferenceOf>
void Report(Application& application, const DiffOptions& options, const Targets& targets,
            const DifferenceOf& difference) {
  if (options.json) {
    Json json = {{"target_before", targets.before}, {"target_after", targets.after}};
    json.update(ToJson(difference));
    application.out().Print(Dump(json));
  } else {
    Print(difference, application.out(), options.all);
  }
}

// True if either has parameters that are in no comparison.
Result<bool> DiffPerfDbs(Application& application, const Database& before, const Database& after,
                         const DiffOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const PerfDb* const old_db, OnlyPerfDb(before));
  ATTUNE_ASSIGN_OR_RETURN(const PerfDb* const new_db, OnlyPerfDb(after));
  // Compares all parts of the keys in two databases of the oldest text format.
  const PerfKeyForm form = old_db->form == new_db->form ? old_db->form : PerfKeyForm::kPerfKey;
  ATTUNE_ASSIGN_OR_RETURN(const ConvertedPerfDb earlier, Converted(*old_db, form));
  ATTUNE_ASSIGN_OR_RETURN(const ConvertedPerfDb later, Converted(*new_db, form));
  const bool of_before =
      ReportOtherParameters(earlier.other_parameters, options.before, application.err());
  const bool of_after =
      ReportOtherParameters(later.other_parameters, options.after, application.err());
  Report(application, options, {TargetOf(before), TargetOf(after)},
         Difference(earlier.db, later.db));
  return of_before || of_after;
}

Result<int> RunDiff(Application& application, const DiffOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const Database before, ReadDatabase(options.before));
  ATTUNE_ASSIGN_OR_RETURN(const Database after, ReadDatabase(options.after));
  if (before.name.kind != after.name.kind) {
    return InvalidArgument(fmt::format("'{}' is a {} and '{}' a {}: compare two of a kind.",
                                       options.before, Name(before.name.kind), options.after,
                                       Name(after.name.kind)));
  }
  bool left_out = ReportLeftOut(before, application);
  left_out = ReportLeftOut(after, application) || left_out;
  const Targets targets = {TargetOf(before), TargetOf(after)};
  WarnOfTwoGpus(before.name.kind, targets, {before.name.backend, after.name.backend}, options,
                application.err());
  if (before.find_db() != nullptr) {
    Report(application, options, targets, Difference(*before.find_db(), *after.find_db()));
  } else if (before.kernels() != nullptr) {
    Report(application, options, targets,
           Difference(HashesOf(*before.kernels()), HashesOf(*after.kernels())));
  } else {
    ATTUNE_ASSIGN_OR_RETURN(const bool is_part, DiffPerfDbs(application, before, after, options));
    left_out = is_part || left_out;
  }
  return left_out ? kExitPartly : kExitDone;
}

}  // namespace

void AddDiffVerb(CLI::App& miopen, Invocation& invocation) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* verb = AddVerb(miopen, "diff",
                           "Say what is new, gone, faster and slower from one database to another",
                           "  attune miopen diff tests/data/miopen/gfx906_60.HIP.fdb.txt "
                           "tests/data/miopen/gfx1030_36.HIP.fdb.txt\n\n"
                           "Exit status: 0, or 3 if something of either could not be read, or "
                           "has no place under\nthe keys of the other.");
  verb->add_option("before", options->before, "The older one")->required()->type_name("FILE");
  verb->add_option("after", options->after, "The newer one")->required()->type_name("FILE");
  verb->add_flag("--all", options->all, "Show every change, not the first five of each kind");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunDiff(application, *options); };
  });
}

}  // namespace attune::miopen
