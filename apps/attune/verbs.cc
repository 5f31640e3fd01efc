#include "apps/attune/verbs.h"

#include <charconv>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/terminal.h"
#include "apps/attune/workshop.h"
#include "attune/base/file.h"
#include "attune/base/text.h"
#include "attune/record/network.h"
#include "attune/record/rules.h"
#include "attune/session/session.h"

namespace attune {
namespace {

// Less than any process takes: a unit was forgotten.
constexpr int64_t kMinMemoryLimitBytes = 1 << 20;

}  // namespace

CLI::App* AddVerb(CLI::App& program, const std::string& name, const std::string& description,
                  std::string_view examples) {
  CLI::App* verb = program.add_subcommand(name, description);
  // Options of the program, --db above all, are accepted after the verb too.
  verb->fallthrough();
  verb->footer("\nExamples:\n" + std::string(examples));
  return verb;
}

void AddJsonFlag(CLI::App& verb, bool& json, const std::string& description) {
  verb.add_flag("--json", json, description);
}

Status CheckJsonHasRoom(bool json, const std::string& file, std::string_view option) {
  if (!json || file != "-") return Status::Ok();
  return InvalidArgument(
      fmt::format("--json prints on standard output, where '{0} -' puts the file. Name a file "
                  "after {0}.",
                  option));
}

CLI::Option* AddSessionOption(CLI::App& verb, std::string& name, Invocation& invocation,
                              const std::string& description) {
  const auto take = [&name, &invocation](const std::string& given) {
    name = given;
    invocation.session = given;
  };
  return verb.add_option_function<std::string>("--session", take, description)
      ->check(NameWithin(kMaxSessionNameBytes))
      ->type_name("NAME");
}

CLI::Option_group* AddListOptions(CLI::App& verb, ProblemSelection& selection,
                                  Invocation& invocation) {
  auto* group = verb.add_option_group("problems", "What to work on");
  CLI::Option* tag = group->add_option("--tag", selection.tag, "Problems with this tag")
                         ->check(NameWithin(kMaxTagBytes));
  CLI::Option* model =
      group
          ->add_option(
              "--model", selection.model,
              "Problems of the networks of this model, as NAME or NAME:VERSION; the last colon "
              "divides")
          ->check(NameWithin(kMaxNetworkBytes))
          ->type_name("MODEL")
          ->excludes(tag);
  // Not in the group, which counts ways to name problems.
  verb.add_option("--framework", selection.framework,
                  "With --model: of those that this runs alone, as NAME or NAME:VERSION")
      ->needs(model)
      ->check(NameWithin(kMaxNetworkBytes))
      ->check(SeenText())
      ->type_name("FRAMEWORK");
  AddSessionOption(*group, selection.session, invocation,
                   "Records of this session alone, and its problems where no others are named");
  return group;
}

CLI::Option_group* AddSelectionOptions(CLI::App& verb, ProblemSelection& selection,
                                       Invocation& invocation) {
  auto* group = AddListOptions(verb, selection, invocation);
  group->description("What to work on, at least one of");
  group
      ->add_option("--problem", selection.problems,
                   "A canonical problem text or a MIOpenDriver command line; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PROBLEM");
  group->require_option(1, 4);
  return group;
}

Status WriteResult(Application& application, const std::string& file, std::string_view content,
                   std::string_view option) {
  if (file == "-") {
    application.out().Print(content);
    return Status::Ok();
  }
  const Status written = WriteFileAtomically(file, content);
  if (written.ok()) return written;
  return Status(written.code(),
                fmt::format("{} After {} goes a file in a folder that exists and may be written "
                            "to, or - for standard output.",
                            written.message(), option));
}

CLI::Validator NameWithin(size_t most_bytes) {
  const auto check = [most_bytes](const std::string& name) -> std::string {
    if (name.size() <= most_bytes) return "";
    return fmt::format("'{}' has {} bytes; such a name has at most {}",
                       Printable(FirstBytes(name, kExcerptBytes)) + "...", name.size(), most_bytes);
  };
  return CLI::Validator(check, "");
}

CLI::Validator SeenText() {
  const auto check = [](const std::string& text) -> std::string {
    const auto at = FirstUnprintable(text);
    if (!at.has_value() && text.find_first_not_of(' ') != std::string::npos) return "";
    if (!at.has_value()) {
      return fmt::format("'{}' is empty or of blanks alone: the name has to be seen and typed",
                         text);
    }
    return fmt::format(
        "Byte 0x{:02x} at position {} of '{}' is a control character or no UTF-8: the name has to "
        "be seen and typed",
        static_cast<unsigned char>(text[*at]), *at + 1, Excerpt(Printable(text)));
  };
  return CLI::Validator(check, "");
}

CLI::Option* AddDurationOption(CLI::App& verb, const std::string& name, int64_t& duration_ns,
                               const std::string& description) {
  const auto parse = [&duration_ns](const std::string& text) {
    const auto duration = ParseDurationNs(text);
    if (!duration.ok()) throw CLI::ValidationError(duration.error().message());
    duration_ns = *duration;
  };
  return verb.add_option_function<std::string>(name, parse, description)->type_name("DURATION");
}

CLI::Option* AddSeedOption(CLI::App& verb, uint64_t& seed, const std::string& description) {
  const auto parse = [&seed](const std::string& text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw CLI::ValidationError(fmt::format("The seed '{}' is not an integer from 0 to {}.",
                                             Printable(text),
                                             std::numeric_limits<uint64_t>::max()));
    }
    seed = number;
  };
  return verb.add_option_function<std::string>("--seed", parse, description)
      ->default_str(std::to_string(seed))
      ->type_name("UINT");
}

void AddLimitOptions(CLI::App& verb, WorkshopLimits& limits) {
  verb.add_option(
          "--jobs", limits.jobs,
          "Candidates that are built and verified at once (default: one for each core, one on "
          "a GPU)")
      ->check(CLI::Range(0, 1024));
  verb.add_option("--memory-limit", limits.memory_limit_bytes,
                  "Memory of one candidate's process, as 4GiB or 512MiB "
                  "(default: an equal share of what the machine has)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(kMinMemoryLimitBytes, std::numeric_limits<int64_t>::max()))
      ->type_name("SIZE");
  AddDurationOption(verb, "--run-deadline", limits.run_deadline_ns,
                    "A candidate that runs for longer hangs, and its process is killed: one check "
                    "of its result, or one block that is timed, unless it is known to take longer "
                    "(default: 20s)");
}

}  // namespace attune
