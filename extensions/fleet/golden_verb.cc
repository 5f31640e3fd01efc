// attune golden: reviewed and approved versions of results.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/counted.h"
#include "apps/attune/duration.h"
#include "apps/attune/json_text.h"
#include "apps/attune/labels.h"
#include "apps/attune/session/golden_part.h"
#include "apps/attune/session/golden_validity.h"
#include "apps/attune/session/session_choices.h"
#include "apps/attune/table.h"
#include "attune/base/unix_time.h"
#include "attune/base/user_at_host.h"
#include "attune/session/golden_draft.h"
#include "extensions/fleet/fleet_verbs.h"

namespace attune {
namespace {

constexpr size_t kShownChanges = 40;

struct GoldenOptions {
  std::string name;
  std::string other;  // --base, or the second version of diff.
  std::vector<std::string> sessions;
  std::string reason;
  bool force = false;
  bool all = false;
  bool json = false;
};

std::string_view StateOf(const GoldenVersion& version) {
  if (version.is_withdrawn()) return "rolled back";
  return version.is_approved() ? "approved" : "draft";
}

Json VersionJson(const GoldenVersion& version) {
  return {{"name", version.name},
          {"state", StateOf(version)},
          {"base", version.base},
          {"created_by", version.created_by},
          {"created_unix_ns", version.created_unix_ns},
          {"approved_by", version.approved_by},
          {"approved_unix_ns", version.approved_unix_ns},
          {"withdrawn_by", version.withdrawn_by},
          {"withdrawn_unix_ns", version.withdrawn_unix_ns},
          {"withdrawn_because", version.withdrawn_because}};
}

// The rolled-back version among the bases of `version`; empty if there is none, or if `version`
// itself was rolled back.
std::string RolledBackBase(const std::vector<GoldenVersion>& versions,
                           const GoldenVersion& version) {
  const GoldenVersion* const withdrawn = FindWithdrawn(versions, version);
  return withdrawn == nullptr || withdrawn->name == version.name ? "" : withdrawn->name;
}

Result<int> RunCreate(Application& application, const GoldenOptions& options) {
  // A base needs an existing database; a new version does not.
  ATTUNE_RETURN_IF_ERROR(options.other.empty() ? application.store().status()
                                               : application.ExistingStore().status());
  ATTUNE_ASSIGN_OR_RETURN(const GoldenVersion version,
                          application.golden()->Create(options.name, options.other, UserAtHost()));
  application.out().Print(options.json
                              ? Dump(VersionJson(version))
                              : fmt::format("Golden version '{}' is a draft{}.\n", version.name,
                                            version.base.empty()
                                                ? ""
                                                : fmt::format(" with all of '{}'", version.base)));
  return kExitDone;
}

Result<int> RunList(Application& application, const GoldenOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  std::vector<GoldenVersion> versions;
  if (application.golden() != nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(versions, application.golden()->List());
  }
  Output& out = application.out();
  if (options.json) {
    Json list = Json::array();
    for (const GoldenVersion& version : versions) {
      list.push_back(VersionJson(version));
      list.back()["rolled_back_base"] = RolledBackBase(versions, version);
    }
    out.Print(Dump(list));
    return kExitDone;
  }
  if (versions.empty()) {
    out.Print("There are no golden versions yet. 'attune golden create NAME' makes one.\n");
    return kExitDone;
  }
  Table table({{"version"}, {"base"}, {"state"}, {"made"}, {"by"}, {"remark"}});
  for (const GoldenVersion& version : versions) {
    const std::string base = RolledBackBase(versions, version);
    const std::string remark =
        base.empty() ? version.withdrawn_because
                     : fmt::format("of no use: '{}', which it begins from, was rolled back", base);
    table.AddRow(
        {version.name, version.base, std::string(StateOf(version)),
         FormatMoment(version.created_unix_ns), Printable(version.created_by), Printable(remark)},
        version.is_withdrawn() || !base.empty() ? Colour::kDim : Colour::kPlain);
  }
  out.Print(table.Render(out.screen(), out.width()));
  return kExitDone;
}

Json EntryJson(const GoldenEntry& entry) {
  return {{"problem", Text(entry.problem)}, {"target", Text(entry.target)},
          {"cache", CacheName(entry)},      {"candidate", Text(entry.candidate)},
          {"median_ns", entry.median_ns},   {"low_ns", entry.low_ns},
          {"high_ns", entry.high_ns},       {"session", entry.session},
          {"set_id", entry.set_id},         {"reason", Name(entry.reason)},
          {"added_by", entry.added_by},     {"added_unix_ns", entry.added_unix_ns}};
}

Result<int> RunShow(Application& application, const GoldenOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const OpenedGolden golden, OpenGolden(application, options.name));
  ATTUNE_ASSIGN_OR_RETURN(auto stale, ReasonsStale(application, golden.entries));
  ATTUNE_ASSIGN_OR_RETURN(const auto mixed, MixedEnvironments(application, golden.entries));
  Output& out = application.out();
  if (options.json) {
    Json json = VersionJson(golden.version);
    json["mixed"] = mixed;
    json["entries"] = Json::array();
    for (const GoldenEntry& entry : golden.entries) {
      json["entries"].push_back(EntryJson(entry));
      json["entries"].back()["stale"] = Printable(stale[entry.id]);
    }
    out.Print(Dump(json));
    return kExitDone;
  }
  Table table({{"problem", Column::Align::kLeft, Column::Fit::kCut},
               {"candidate", Column::Align::kLeft, Column::Fit::kCut},
               {"time", Column::Align::kRight},
               {"caches"},
               {"why"},
               {"session"},
               {"target", Column::Align::kLeft, Column::Fit::kCut},
               {"remark", Column::Align::kLeft, Column::Fit::kCut}});
  for (const GoldenEntry& entry : golden.entries) {
    const auto found = stale.find(entry.id);
    const bool is_stale = found != stale.end();
    table.AddRow(
        {Label(entry.problem), Text(entry.candidate), FormatTime(entry.median_ns),
         std::string(CacheName(entry)), std::string(Name(entry.reason)), Printable(entry.session),
         Text(entry.target), is_stale ? "stale: " + Printable(found->second) : std::string()},
        is_stale ? Colour::kYellow : Colour::kPlain);
  }
  out.Print(fmt::format("{}, {}, {}\n", Printable(golden.version.name), StateOf(golden.version),
                        Counted(golden.entries.size(), "entry", "entries")));
  if (!table.empty()) out.Print(table.Render(out.screen(), out.width()));
  out.Flush();
  for (const std::string& sentence : mixed) application.err().Print(Printable(sentence) + "\n");
  return kExitDone;
}

// The results added from sessions.
struct Additions {
  GoldenAdditions results;
  std::vector<Session> empty_sessions;  // Sessions without a decision.
};

// The message for a session without results, with a hint.
std::string NoResultsText(const Session& session) {
  if (session.is_closed()) {
    return fmt::format("Session '{}' has no results and is closed, so it never will: leave it out.",
                       Printable(session.name));
  }
  return fmt::format(
      "Session '{}' has no results yet; 'attune tune --session {} --tag TAG' measures some.",
      Printable(session.name), ShellWord(session.name));
}

// A version to which sessions are added.
struct Adding {
  std::map<std::string, Session> sessions;  // All sessions, by name.
  GoldenDraft draft;
  Additions additions;
};

Result<Adding> BeginAdding(Application& application, const OpenedGolden& golden) {
  Adding adding;
  ATTUNE_ASSIGN_OR_RETURN(auto sessions, application.sessions()->List());
  for (Session& session : sessions) {
    std::string name = session.name;
    adding.sessions.emplace(std::move(name), std::move(session));
  }
  adding.draft.version = golden.version.name;
  for (const GoldenEntry& entry : golden.entries) {
    adding.draft.standing[QuestionOf(entry)] = entry;
  }
  ATTUNE_ASSIGN_OR_RETURN(adding.draft.evidence, EvidenceOf(application, golden.entries));
  return adding;
}

Status AddSession(Application& application, const Session& session, const GoldenTaker& taker,
                  Adding& adding) {
  SessionStore& sessions = *application.sessions();
  ATTUNE_ASSIGN_OR_RETURN(const SolverTable solvers, sessions.Solvers(session.id));
  ATTUNE_ASSIGN_OR_RETURN(const auto choices,
                          ChoicesOf(session, application.all_records(), sessions));
  if (choices.empty()) adding.additions.empty_sessions.push_back(session);
  std::vector<GoldenRival> rivals;
  for (const auto& [question, found] : choices) {
    rivals.push_back({found.choice, {found.environment, found.started_unix_ns}});
  }
  return AddResults({session, solvers, rivals}, adding.sessions, taker, adding.draft,
                    adding.additions.results);
}

void PrintAdditions(Application& application, const Additions& additions, bool as_json) {
  const GoldenAdditions& results = additions.results;
  if (as_json) {
    Json empty_sessions = Json::array();
    for (const Session& session : additions.empty_sessions) empty_sessions.push_back(session.name);
    application.out().Print(Dump({{"taken", results.taken},
                                  {"same", results.same},
                                  {"kept", results.kept},
                                  {"stale", results.stale},
                                  {"empty_sessions", std::move(empty_sessions)}}));
  } else {
    std::string text;
    for (const auto& [reason, count] : results.taken) {
      text += fmt::format("{} taken ({}), ", count, reason);
    }
    text += fmt::format("{} the same, {} not significantly faster than what stands", results.same,
                        results.kept);
    if (results.stale > 0) {
      text += fmt::format(", {} left out because their solvers have changed since", results.stale);
    }
    application.out().Print(text + ".\n");
  }
  for (const Session& session : additions.empty_sessions) {
    application.err().Print(NoResultsText(session) + "\n");
  }
}

// Adds all sessions or none.
Result<int> RunAdd(Application& application, const GoldenOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.ExistingStore().status());
  ATTUNE_ASSIGN_OR_RETURN(const OpenedGolden golden, OpenGolden(application, options.name));
  ATTUNE_ASSIGN_OR_RETURN(Adding adding, BeginAdding(application, golden));
  const GoldenTaker taker = {UserAtHost(), UnixNowNs(), options.force};
  std::set<std::string> seen_sessions;
  for (const std::string& name : options.sessions) {
    if (!seen_sessions.insert(name).second) continue;
    ATTUNE_ASSIGN_OR_RETURN(const Session session, application.sessions()->Find(name));
    ATTUNE_RETURN_IF_ERROR(AddSession(application, session, taker, adding));
  }
  // Entries of a base have lower ids.
  const int64_t seen = golden.entries.empty() ? 0 : golden.entries.back().id;
  ATTUNE_RETURN_IF_ERROR(application.golden()->Add(golden.version.id, adding.draft.taken, seen));
  const Additions& additions = adding.additions;
  if (additions.empty_sessions.size() == seen_sessions.size()) {
    return FailedPrecondition(fmt::format("Nothing was added to golden version '{}'. {}",
                                          options.name,
                                          NoResultsText(additions.empty_sessions.front())));
  }
  PrintAdditions(application, additions, options.json);
  return additions.results.stale > 0 || !additions.empty_sessions.empty() ? kExitPartly : kExitDone;
}

Result<int> RunApprove(Application& application, const GoldenOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.ExistingStore().status());
  ATTUNE_ASSIGN_OR_RETURN(const OpenedGolden golden, OpenGolden(application, options.name));
  // Steps that can fail run before the irreversible one.
  ATTUNE_ASSIGN_OR_RETURN(const auto stale, ReasonsStale(application, golden.entries));
  ATTUNE_RETURN_IF_ERROR(application.golden()->Approve(golden.version.id, UserAtHost()));
  if (options.json) {
    ATTUNE_ASSIGN_OR_RETURN(const GoldenVersion version, application.golden()->Find(options.name));
    Json json = VersionJson(version);
    json["stale"] = stale.size();
    application.out().Print(Dump(json));
  } else {
    application.out().Print(
        fmt::format("Golden version '{}' is approved and never changes.\n", golden.version.name));
  }
  application.out().Flush();
  application.err().Print(StaleText(stale, golden.entries.size()));
  return stale.empty() ? kExitDone : kExitPartly;
}

Result<int> RunRollback(Application& application, const GoldenOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.ExistingStore().status());
  ATTUNE_ASSIGN_OR_RETURN(const GoldenVersion version, application.golden()->Find(options.name));
  ATTUNE_RETURN_IF_ERROR(application.golden()->Withdraw(version.id, UserAtHost(), options.reason));
  ATTUNE_ASSIGN_OR_RETURN(const auto versions, application.golden()->List());
  std::vector<std::string> dependents;
  for (const GoldenVersion* dependent : FindDependents(versions, version)) {
    dependents.push_back(dependent->name);
  }
  if (options.json) {
    ATTUNE_ASSIGN_OR_RETURN(const GoldenVersion withdrawn,
                            application.golden()->Find(version.name));
    Json json = VersionJson(withdrawn);
    json["of_no_use_with_it"] = dependents;
    application.out().Print(Dump(json));
    return kExitDone;
  }
  std::string text = fmt::format(
      "Golden version '{}' is rolled back: it stays readable, and nothing begins from it.{}\n",
      version.name,
      version.base.empty() ? ""
                           : fmt::format(" What it began from, '{}', is as it was.", version.base));
  if (!dependents.empty()) {
    text += fmt::format("Of no use with it, because they begin from it: {}.\n",
                        fmt::join(dependents, ", "));
  }
  application.out().Print(fmt::format("{}{}\n", text, HowToBegin(versions)));
  return kExitDone;
}

Result<int> RunDiff(Application& application, const GoldenOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const OpenedGolden before, OpenGolden(application, options.name));
  ATTUNE_ASSIGN_OR_RETURN(const OpenedGolden after, OpenGolden(application, options.other));
  const auto changes = DiffGolden(before.entries, after.entries);
  Output& out = application.out();
  if (options.json) {
    Json list = Json::array();
    const auto json = [](const GoldenEntry* entry) {
      return entry != nullptr ? EntryJson(*entry) : Json(nullptr);
    };
    for (const GoldenChange& change : changes) {
      list.push_back({{"change", change.word},
                      {"before", json(change.before)},
                      {"after", json(change.after)}});
    }
    out.Print(Dump(list));
    return kExitDone;
  }
  Table table({{"change"},
               {"before", Column::Align::kRight},
               {"after", Column::Align::kRight},
               {"caches"},
               {"problem", Column::Align::kLeft, Column::Fit::kCut},
               {"candidate", Column::Align::kLeft, Column::Fit::kCut}});
  std::map<std::string_view, int64_t> counts;
  size_t shown = 0;
  const auto time = [](const GoldenEntry* entry) {
    return entry != nullptr ? FormatTime(entry->median_ns) : std::string("-");
  };
  for (const GoldenChange& change : changes) {
    ++counts[change.word];
    if (change.word == "same" || (!options.all && ++shown > kShownChanges)) continue;
    const GoldenEntry& known = change.after != nullptr ? *change.after : *change.before;
    table.AddRow(
        {std::string(change.word), time(change.before), time(change.after),
         std::string(CacheName(known)), Label(known.problem), Text(known.candidate)},
        change.word == "slower" || change.word == "gone" ? Colour::kYellow : Colour::kPlain);
  }
  if (!table.empty()) out.Print(table.Render(out.screen(), out.width()));
  std::string text;
  for (const auto& [word, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  }
  out.Print((text.empty() ? "Both are empty" : text) + ".\n");
  if (!options.all && shown > kShownChanges) {
    out.Print(fmt::format("{} more: --all shows {}.\n", Counted(shown - kShownChanges, "change"),
                          shown - kShownChanges == 1 ? "it" : "them"));
  }
  return kExitDone;
}

using Run = Result<int> (*)(Application&, const GoldenOptions&);

// A verb about one version.
CLI::App* AddGoldenSubverb(CLI::App* verb, Invocation& invocation, Run run,
                           const std::shared_ptr<GoldenOptions>& options) {
  verb->add_option("version", options->name, "The version")
      ->required()
      ->check(NameWithin(kMaxSessionNameBytes))
      ->type_name("VERSION");
  verb->callback([options, run, &invocation] {
    invocation.run = [options, run](Application& application) {
      return run(application, *options);
    };
  });
  return verb;
}

void AddWritingVerbs(CLI::App& golden, Invocation& invocation) {
  auto created = std::make_shared<GoldenOptions>();
  CLI::App* create =
      AddGoldenSubverb(AddVerb(golden, "create", "Begin a draft, with all of an approved version",
                               "  attune golden create 1\n  attune golden create 2 --base 1"),
                       invocation, RunCreate, created);
  create
      ->add_option("--base", created->other,
                   "The approved version that it begins from; needed while there is one of which "
                   "nothing was rolled back")
      ->check(NameWithin(kMaxSessionNameBytes))
      ->type_name("VERSION");
  AddJsonFlag(*create, created->json);

  auto added = std::make_shared<GoldenOptions>();
  CLI::App* add = AddGoldenSubverb(
      AddVerb(golden, "add",
              "Take what sessions found: what is new, significantly faster than what stands, or in "
              "place of what is no longer valid",
              "  attune golden add 2 --session may --session june"),
      invocation, RunAdd, added);
  add->add_option("--session", added->sessions, "A session; may be repeated")
      ->required()
      ->check(NameWithin(kMaxSessionNameBytes))
      ->allow_extra_args(false)
      ->type_name("NAME");
  add->add_flag("--force", added->force,
                "Take everything, also what is slower or of another environment than what stands; "
                "that is recorded");
  AddJsonFlag(*add, added->json);

  auto approved = std::make_shared<GoldenOptions>();
  CLI::App* approve =
      AddGoldenSubverb(AddVerb(golden, "approve", "Freeze a draft: it never changes after that",
                               "  attune golden approve 1"),
                       invocation, RunApprove, approved);
  AddJsonFlag(*approve, approved->json);

  auto withdrawn = std::make_shared<GoldenOptions>();
  CLI::App* rollback = AddGoldenSubverb(
      AddVerb(golden, "rollback",
              "Take a version back: nothing begins from it any more, and what has is of no use",
              "  attune golden rollback 1 --reason 'slower with the new driver'"),
      invocation, RunRollback, withdrawn);
  rollback->add_option("--reason", withdrawn->reason, "Why, for people")
      ->required()
      ->check([](const std::string& reason) {
        const bool is_blank = reason.find_first_not_of(" \t\n") == std::string::npos;
        return std::string(is_blank ? "what is written is blank, and a reason is needed" : "");
      })
      ->type_name("TEXT");
  AddJsonFlag(*rollback, withdrawn->json);
}

void AddReadingVerbs(CLI::App& golden, Invocation& invocation) {
  auto listed = std::make_shared<GoldenOptions>();
  CLI::App* list = AddVerb(golden, "list", "List the versions", "  attune golden list");
  AddJsonFlag(*list, listed->json);
  list->callback([listed, &invocation] {
    invocation.run = [listed](Application& application) { return RunList(application, *listed); };
  });

  auto shown = std::make_shared<GoldenOptions>();
  CLI::App* show = AddGoldenSubverb(
      AddVerb(golden, "show", "List what a version says, and why", "  attune golden show 1"),
      invocation, RunShow, shown);
  AddJsonFlag(*show, shown->json);

  auto compared = std::make_shared<GoldenOptions>();
  CLI::App* diff = AddGoldenSubverb(
      AddVerb(golden, "diff", "Say what is faster, slower, new or gone in a second version",
              "  attune golden diff 1 1"),
      invocation, RunDiff, compared);
  diff->add_option("second", compared->other, "Another version")
      ->required()
      ->check(NameWithin(kMaxSessionNameBytes))
      ->type_name("VERSION");
  diff->add_flag("--all", compared->all, "Every change, not the first 40");
  AddJsonFlag(*diff, compared->json);
}

}  // namespace

void AddGoldenVerb(CLI::App& program, Invocation& invocation) {
  CLI::App* verb = AddVerb(program, "golden",
                           "Versions of results that are approved and never change after that",
                           "  attune golden create 1\n"
                           "  attune golden add 1 --session may\n"
                           "  attune golden approve 1\n"
                           "  attune golden export 1 -o golden-1");
  verb->require_subcommand(1);
  AddWritingVerbs(*verb, invocation);
  AddReadingVerbs(*verb, invocation);
  AddGoldenExportVerb(*verb, invocation);
}

}  // namespace attune
