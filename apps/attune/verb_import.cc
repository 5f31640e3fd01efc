// attune import: reads a list of problems into the database.

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/attune/choices.h"
#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "apps/attune/labels.h"
#include "apps/attune/verbs.h"
#include "attune/base/file.h"
#include "attune/base/parallel_for.h"
#include "attune/formats/problem_list.h"
#include "attune/record/network.h"
#include "attune/record/rules.h"
#include "attune/session/session.h"

namespace attune {
namespace {

constexpr const char* kStandardInput = "-";

struct ImportOptions {
  std::string file;  // Or kStandardInput.
  std::string tag;
  std::string model;  // MODEL or MODEL:VERSION; empty: of no network.
  std::string framework;
  std::string session;
  int64_t batch_size = 0;  // 0: as the list says.
  bool json = false;
};

// Problems that the tag and the network had before and this list does not have: they stay there.
struct Staying {
  int64_t in_tag = 0;
  std::optional<int64_t> in_network;  // Nothing if the list is of none.
  std::string network;                // Its label.
  std::string another_version;        // The version that --model would name.
};

Json ImportJson(const ProblemList& list, const Staying& staying) {
  Json rejected = Json::array();
  for (const RejectedLine& line : list.rejected) {
    rejected.push_back({{"line", line.line}, {"column", line.column}, {"reason", line.reason}});
  }
  return {{"read", list.read},
          {"imported", list.imported},
          {"duplicates", list.duplicates},
          {"problems", list.problems.size()},
          {"unsupported", list.unsupported},
          {"staying_in_tag", staying.in_tag},
          {"staying_in_network", staying.in_network ? Json(*staying.in_network) : Json()},
          {"rejected", std::move(rejected)}};
}

std::string SourceOf(const ImportOptions& options) {
  return options.file == kStandardInput ? "standard input" : Printable(options.file);
}

// Nothing takes a problem out of a tag or a network.
void PrintStaying(const Staying& staying, const ImportOptions& options, Output& out) {
  if (staying.in_tag > 0) {
    out.Print(fmt::format(
        "{} that {} not in this list stay{} under the tag '{}'; another tag begins anew.\n",
        Counted(staying.in_tag, "problem"), IsOrAre(staying.in_tag), staying.in_tag == 1 ? "s" : "",
        Printable(options.tag)));
  }
  if (staying.in_network.value_or(0) == 0) return;
  const bool is_one = *staying.in_network == 1;
  out.Print(fmt::format(
      "{} that {} not in this list stay{} in the network {} and count{} for its time. If the "
      "network no longer computes {}, import the list as another version, which begins anew: "
      "--model {}.\n",
      Counted(*staying.in_network, "problem"), IsOrAre(*staying.in_network), is_one ? "s" : "",
      Printable(staying.network), is_one ? "s" : "", is_one ? "it" : "them",
      Printable(staying.another_version)));
}

void PrintImport(const ProblemList& list, const Staying& staying, const ImportOptions& options,
                 Application& application) {
  Output& out = application.out();
  const std::string source = SourceOf(options);
  out.Print(fmt::format("{}: {} read, {} imported, {}, {} rejected.\n", source,
                        Counted(list.read, "line"), list.imported,
                        Counted(list.duplicates, "duplicate"), list.rejected.size()));
  if (!list.problems.empty()) {
    out.Print(fmt::format("{} put under the tag '{}'.\n", Counted(list.problems.size(), "problem"),
                          Printable(options.tag)));
  }
  PrintStaying(staying, options, out);
  if (list.unsupported > 0) {
    out.Print(fmt::format(
        "{} name{} problems that cannot be tuned here; 'attune problems --tag {}' says why.\n",
        Counted(list.unsupported, "imported line"), list.unsupported == 1 ? "s" : "",
        Printable(options.tag)));
  }
  out.Flush();
  for (const RejectedLine& line : list.rejected) {
    application.err().Print(
        fmt::format("{}:{}:{}: {}\n", source, line.line, line.column, Printable(line.reason)));
  }
}

Result<std::string> ReadContent(const ImportOptions& options) {
  auto content = options.file == kStandardInput ? ReadAll(STDIN_FILENO, SourceOf(options))
                                                : ReadFile(options.file);
  if (content.ok()) return content;
  return Status(content.error().code(),
                fmt::format("{} The list is a file that may be read, or - for standard input.",
                            content.error().message()));
}

Result<ProblemList> ReadList(Application& application, const ImportOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadContent(options));
  // A plug-in is loaded for a problem that the processor does not compute.
  SupportCheck support(application.lazy_backends());
  ProblemListOptions reading;
  if (options.batch_size > 0) reading.batch_size = options.batch_size;
  reading.for_each = [](int64_t count, const std::function<void(int64_t)>& task) {
    ParallelFor(count, task);
  };
  reading.is_supported = [&](const Problem& problem) { return support.Check(problem).ok(); };
  return ReadProblemList(content, reading);
}

// How many problems `lists` says that `wanted` has; 0 if it is not there.
template <typename Name>
int64_t CountOf(const std::vector<std::pair<Name, int64_t>>& lists, const Name& wanted) {
  for (const auto& [name, count] : lists) {
    if (name == wanted) return count;
  }
  return 0;
}

// Once the `listed` problems are in the tag and in the network.
Result<Staying> CountStaying(RecordStore& store, const std::string& tag,
                             const std::optional<Network>& network, size_t listed) {
  Staying staying;
  ATTUNE_ASSIGN_OR_RETURN(const auto tags, store.Tags());
  staying.in_tag = CountOf(tags, tag) - static_cast<int64_t>(listed);
  if (!network.has_value()) return staying;
  ATTUNE_ASSIGN_OR_RETURN(const auto networks, store.Networks());
  staying.in_network = CountOf(networks, *network) - static_cast<int64_t>(listed);
  staying.network = Label(*network);
  staying.another_version = NameAndVersion(network->model, "VERSION");
  return staying;
}

// Puts the problems under the tag, into the network and into the session, as far as these are
// named.
Result<Staying> Keep(Application& application, const ImportOptions& options,
                     const std::optional<Network>& network, const ProblemList& list) {
  std::vector<TaggedProblem> tagged;
  tagged.reserve(list.problems.size());
  for (const ListedProblem& listed : list.problems) {
    tagged.push_back({listed.problem, static_cast<int64_t>(listed.count)});
  }
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.store());
  // Before the tag is there, which would stay.
  if (!options.session.empty() && application.session()->is_closed()) {
    return RefusedAsClosed(*application.session(), "nothing more is added to it");
  }
  ATTUNE_RETURN_IF_ERROR(store->AddProblems(options.tag, tagged));
  if (network.has_value()) ATTUNE_RETURN_IF_ERROR(store->AddNetwork(*network, tagged));
  if (!options.session.empty()) {
    ATTUNE_RETURN_IF_ERROR(application.sessions()->AddTag(application.session()->id, options.tag));
  }
  return CountStaying(*store, options.tag, network, tagged.size());
}

Result<int> RunImport(Application& application, const ImportOptions& options) {
  std::optional<Network> network;
  if (!options.model.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(network, NetworkOf(options.model, options.framework));
  }
  ATTUNE_ASSIGN_OR_RETURN(const ProblemList list, ReadList(application, options));
  Staying staying;
  if (!list.problems.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(staying, Keep(application, options, network, list));
  }
  if (options.json) {
    application.out().Print(Dump(ImportJson(list, staying)));
  } else {
    PrintImport(list, staying, options, application);
  }
  if (list.problems.empty()) {
    // Also printed with --json: a later tuning of the tag would find no problems.
    const std::string none = fmt::format(
        "{} holds no problem that can be imported, so nothing was put under the tag '{}'. 'attune "
        "import --help' shows what a list may hold.",
        SourceOf(options), options.tag);
    if (list.rejected.empty()) return FailedPrecondition(none);
    application.out().Flush();
    application.err().Print(fmt::format("attune import: {}\n", Printable(none)));
  }
  return list.rejected.empty() ? kExitDone : kExitPartly;
}

}  // namespace

void AddImportVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* verb = AddVerb(
      program, "import",
      "Read problems: MIOpenDriver commands, TunableOp CSVs, canonical texts, mixed at will",
      "  attune import tests/data/driver/resnet50.txt --tag resnet50\n"
      "  attune import tests/data/driver/resnet50.txt --tag resnet50-b4 --batch-size 4\n"
      "  attune import tests/data/driver/resnet50.txt --tag resnet50 --model Resnet50:1 "
      "--framework "
      "Pytorch:1\n"
      "  attune import tests/data/tunableop/untuned.csv --tag llm --json\n"
      "  grep -rh MIOpenDriver logs | attune import - --tag logs\n\n"
      "A problem that the tag or the network has and the list has not stays there, and is counted "
      "in what\nis printed: another tag, or another version of the model, begins anew.\n\n"
      "Exit status: 0 if every line was read, 3 if some or all were rejected, 1 if there was no "
      "line.");
  verb->add_option("file", options->file, "The list, or - for standard input")
      ->required()
      ->type_name("FILE");
  verb->add_option("--tag", options->tag, "Name of the list in the database")
      ->required()
      ->check(NameWithin(kMaxTagBytes))
      ->check(SeenText());
  CLI::Option* model =
      verb->add_option("--model", options->model,
                       "The network that the list is of, as NAME or NAME:VERSION, divided by the "
                       "last colon: how often a line occurs is how often the network computes it")
          ->check(NameWithin(kMaxNetworkBytes))
          ->check(SeenText())
          ->type_name("MODEL");
  verb->add_option("--framework", options->framework, "What runs it, as NAME or NAME:VERSION")
      ->needs(model)
      ->check(NameWithin(kMaxNetworkBytes))
      ->check(SeenText())
      ->type_name("FRAMEWORK");
  AddSessionOption(*verb, options->session, invocation, "The tag becomes one of this session");
  verb->add_option("--batch-size", options->batch_size,
                   "Batch size of every problem that has one, instead of what the list says")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->type_name("N");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunImport(application, *options);
    };
  });
}

}  // namespace attune
