// attune session: tuning sessions, each for one kind of device with its libraries.

#include <fmt/format.h>

#include "apps/attune/json_text.h"
#include "apps/attune/labels.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/table.h"
#include "attune/base/unix_time.h"
#include "attune/base/user_at_host.h"
#include "extensions/fleet/fleet_verbs.h"
#include "runtime/compile_place.h"

namespace attune {
namespace {

struct NewOptions {
  std::string name;
  std::string device;
  std::string target;
  std::string reason;
  bool json = false;
};

Json SessionJson(const Session& session) {
  const SessionTerms& terms = session.terms;
  return {{"name", session.name},
          {"reason", session.reason},
          {"backend", terms.backend},
          {"arch", terms.arch},
          {"target", terms.target ? Json(Text(*terms.target)) : Json(nullptr)},
          {"fixed", terms.fixed},
          {"created_by", session.created_by},
          {"created_unix_ns", session.created_unix_ns},
          {"closed_by", session.closed_by},
          {"closed_unix_ns", session.closed_unix_ns},
          {"sets", session.set_count}};
}

std::string TargetText(const SessionTerms& terms) {
  return terms.target ? Text(*terms.target)
                      : fmt::format("{}, any device of {}", terms.arch, terms.backend);
}

// If the device does not exist, adds why a backend that the user selected is not loaded.
Result<Place> PlaceNamed(const LoadedBackends& backends, const std::string& device) {
  auto place = FindPlace(backends.list, device);
  if (place.ok() || place.error().code() != StatusCode::kNotFound) return place;
  std::string text(place.error().message());
  for (const LoadedBackends::Refusal& refusal : backends.refused) {
    if (refusal.chosen_by.empty()) continue;
    text += fmt::format(" {}: {}", refusal.chosen_by, refusal.reason);
  }
  return NotFound(std::move(text));
}

Result<SessionTerms> TermsOf(Application& application, const NewOptions& options) {
  SessionTerms terms;
  if (!options.target.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(const CompilePlace place, FindCompilePlace(options.target));
    terms.backend = place.target.backend;
    terms.arch = place.target.arch;
    return terms;
  }
  ATTUNE_ASSIGN_OR_RETURN(const Place place, PlaceNamed(application.backends(), options.device));
  terms.backend = place.target.backend;
  terms.arch = place.target.arch;
  terms.target = place.target;
  terms.fixed = FixedHere(*place.backend, place.environment);
  return terms;
}

Result<int> RunNew(Application& application, const NewOptions& options) {
  ATTUNE_RETURN_IF_ERROR(ValidateSessionName(options.name));
  Session session;
  session.name = options.name;
  session.reason = options.reason;
  session.created_by = UserAtHost();
  session.created_unix_ns = UnixNowNs();
  ATTUNE_ASSIGN_OR_RETURN(session.terms, TermsOf(application, options));
  ATTUNE_RETURN_IF_ERROR(application.store().status());
  ATTUNE_ASSIGN_OR_RETURN(const Session made, application.sessions()->Create(session));
  if (options.json) {
    application.out().Print(Dump(SessionJson(made)));
  } else {
    application.out().Print(
        fmt::format("Session '{}' for {}.\n", made.name, TargetText(made.terms)));
  }
  return kExitDone;
}

// Options of the verbs that name sessions.
struct NamedOptions {
  std::string name;
  std::string other;
  bool json = false;
};

Result<int> RunList(Application& application, const NamedOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  std::vector<Session> sessions;
  if (application.sessions() != nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(sessions, application.sessions()->List());
  }
  if (options.json) {
    Json list = Json::array();
    for (const Session& session : sessions) list.push_back(SessionJson(session));
    application.out().Print(Dump(list));
    return kExitDone;
  }
  if (sessions.empty()) {
    application.out().Print(
        "There are no sessions yet. 'attune session new NAME --device DEVICE' "
        "makes one.\n");
    return kExitDone;
  }
  Table table({{"session"},
               {"made"},
               {"sets", Column::Align::kRight},
               {"state"},
               {"for", Column::Align::kLeft, Column::Fit::kCut}});
  for (const Session& session : sessions) {
    table.AddRow({Printable(session.name), FormatMoment(session.created_unix_ns),
                  fmt::format("{}", session.set_count), session.is_closed() ? "closed" : "open",
                  TargetText(session.terms)},
                 session.is_closed() ? Colour::kDim : Colour::kPlain);
  }
  Output& out = application.out();
  out.Print(table.Render(out.screen(), out.width()));
  return kExitDone;
}

Result<int> RunShow(Application& application, const NamedOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  if (application.sessions() == nullptr) return NotFound("There are no sessions yet.");
  SessionStore& sessions = *application.sessions();
  ATTUNE_ASSIGN_OR_RETURN(const Session session, sessions.Find(options.name));
  ATTUNE_ASSIGN_OR_RETURN(const auto tags, sessions.Tags(session.id));
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, sessions.Problems(session.id));
  ATTUNE_ASSIGN_OR_RETURN(const SolverTable solvers, sessions.Solvers(session.id));
  ATTUNE_ASSIGN_OR_RETURN(const JobCounts jobs, application.jobs()->Count(session.id, 0));
  int64_t job_count = 0;
  for (const JobState state : {JobState::kQueued, JobState::kLeased, JobState::kDone,
                               JobState::kFailed, JobState::kCancelled}) {
    job_count += jobs.Of(state);
  }
  if (options.json) {
    Json json = SessionJson(session);
    json["tags"] = tags;
    json["problems"] = problems.size();
    json["jobs"] = job_count;
    json["solver_generation"] = solvers.generation;
    application.out().Print(Dump(json));
    return kExitDone;
  }
  std::string text =
      fmt::format("{}, made {} by {}\n", Printable(session.name),
                  FormatMoment(session.created_unix_ns), Printable(session.created_by));
  if (!session.reason.empty()) text += fmt::format("  reason   {}\n", Printable(session.reason));
  if (session.is_closed()) {
    text += fmt::format("  closed   {} by {}\n", FormatMoment(session.closed_unix_ns),
                        Printable(session.closed_by));
  }
  text += fmt::format("  device   {}\n", TargetText(session.terms));
  for (const auto& [field, value] : session.terms.fixed) {
    text += fmt::format("           {} {}\n", field, Printable(value));
  }
  std::string tag_text;
  for (const std::string& tag : tags) {
    tag_text += fmt::format("{}{}", tag_text.empty() ? "" : ", ", Printable(tag));
  }
  text += fmt::format("  tags     {}\n", tag_text.empty() ? "none" : tag_text);
  text += fmt::format("  problems {}\n  solvers  {}, generation {}\n  jobs     {}\n  sets     {}\n",
                      problems.size(), solvers.entries.size(), solvers.generation, job_count,
                      session.set_count);
  application.out().Print(text);
  return kExitDone;
}

Result<int> RunClose(Application& application, const NamedOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.ExistingStore().status());
  ATTUNE_ASSIGN_OR_RETURN(const Session session, application.sessions()->Find(options.name));
  ATTUNE_RETURN_IF_ERROR(application.sessions()->Close(session.id, UserAtHost()));
  if (options.json) {
    ATTUNE_ASSIGN_OR_RETURN(const Session closed, application.sessions()->Find(options.name));
    application.out().Print(Dump(SessionJson(closed)));
    return kExitDone;
  }
  application.out().Print(fmt::format(
      "Session '{}' is closed: nothing more is measured in it, and what it has stays.\n",
      Printable(session.name)));
  return kExitDone;
}

// A verb with the name of a session as its only argument.
template <class Run>
void AddNamedVerb(CLI::App* verb, Invocation& invocation, Run run) {
  auto options = std::make_shared<NamedOptions>();
  verb->add_option("name", options->name, "The session")
      ->required()
      ->check(NameWithin(kMaxSessionNameBytes))
      ->type_name("NAME");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation, run] {
    invocation.run = [options, run](Application& application) {
      return run(application, *options);
    };
  });
}

}  // namespace

void AddSessionNewVerb(CLI::App& session, Invocation& invocation) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* verb =
      AddVerb(session, "new", "Begin a session for a device with the libraries that it has now",
              "  attune session new may --device cpu --reason 'first release'\n"
              "  attune session new hopper --target sm_90\n\n"
              "With --target, compiling and 'attune applicability' need no device; the first "
              "device of that "
              "architecture\nthat measures is the session's from then on.");
  verb->add_option("name", options->name, "Its name, of 1 to 80 bytes")
      ->required()
      ->check(NameWithin(kMaxSessionNameBytes))
      ->type_name("NAME");
  auto* group = verb->add_option_group("what for", "Exactly one of");
  group->add_option("--device", options->device,
                    "A device of this machine, as 'attune devices' lists it");
  group->add_option("--target", options->target, "What compilers call a GPU: gfx90a, sm_90")
      ->type_name("ARCH");
  group->require_option(1);
  verb->add_option("--reason", options->reason, "Why it is made, for people")->type_name("TEXT");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunNew(application, *options); };
  });
}

void AddSessionListVerb(CLI::App& session, Invocation& invocation) {
  auto options = std::make_shared<NamedOptions>();
  CLI::App* verb = AddVerb(session, "list", "List the sessions", "  attune session list --json");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunList(application, *options); };
  });
}

void AddSessionShowVerb(CLI::App& session, Invocation& invocation) {
  AddNamedVerb(AddVerb(session, "show", "Say what a session is for, and what it has",
                       "  attune session show may"),
               invocation, RunShow);
}

void AddSessionCloseVerb(CLI::App& session, Invocation& invocation) {
  AddNamedVerb(AddVerb(session, "close", "End a session: nothing more is measured in it",
                       "  attune session close may"),
               invocation, RunClose);
}

void AddSessionVerb(CLI::App& program, Invocation& invocation) {
  CLI::App* verb =
      AddVerb(program, "session",
              "Tuning sessions: measurements of one device with its libraries, and of "
              "nothing else",
              "  attune session new june --device cpu\n"
              "  attune import tests/data/driver/resnet50.txt --tag resnet50 --session "
              "june\n"
              "  attune tune --session june --budget 2m\n"
              "  attune session list");
  verb->require_subcommand(1);
  AddSessionNewVerb(*verb, invocation);
  AddSessionListVerb(*verb, invocation);
  AddSessionShowVerb(*verb, invocation);
  AddSessionDiffVerb(*verb, invocation);
  AddSessionCloseVerb(*verb, invocation);
}

}  // namespace attune
