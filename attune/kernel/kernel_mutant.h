// Classifies a corrupted kernel file, as far as that is possible without a device.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/kernel/covering_problems.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/kernel_file_mutation.h"
#include "attune/problem/problem.h"
#include "attune/space/config.h"

namespace attune::kernel {

// Exactly one of these holds for a mutation. All but the last need no run: the file is refused, or
// nothing that it makes a device do is new.
enum class MutantKind {
  // Refused by LoadKernelFile, with its place.
  kReported,
  // Reads as the same file, field by field.
  kUnchanged,
  // Differs in name, version or description alone: labels, on which nothing that is compiled,
  // launched or bound depends.
  kRelabelled,
  // Differs, but for labels, in `applies`, values of parameters, `constraints` and `cost` alone,
  // and accepts no problem and no config that the intact file refuses: fewer of them, or in another
  // order, of which the first is the default. Program and plan of a config depend on other fields,
  // so each is the same.
  // (The warm-up of a PoCL program depends on both: it changes when the program is compiled, not
  // the program.)
  kOffersLess,
  // As kOffersLess, but a rule is another one: nothing new was found for any problem of
  // CoveringProblems(), LimitProblems() and LargeProblems() and any device, small ones too.
  kOffersNoMore,
  // Written otherwise, but program and plan are the same for every problem of CoveringProblems().
  kSameEffect,
  // Each difference is a problem for which there is no plan: refused with its reason when it is
  // used.
  kNoPlan,
  // Program and plan are made as before; but it accepts problems of LargeProblems() that the intact
  // file refuses. No test can allocate the operands of these.
  kBeyondTests,
  // Changes the behaviour on a device, perhaps only on a smaller device or for a problem at a limit
  // of size: KernelMutant::use is an instance.
  kAnother,
};
std::string_view Name(MutantKind kind);

// One thing that a file makes happen.
struct KernelUse {
  Problem problem;
  Config config;
  std::string text;  // All that is compiled, launched and bound; two of the same do the same.
  // A device with these limits, which the intact file leaves this config out for; none: any device.
  std::optional<Config> small_device;
  bool is_heavy = false;  // The problem is of LimitProblems(): seconds, and a GiB of workspace.
};

struct KernelMutant {
  MutantKind kind = MutantKind::kReported;
  std::string report;            // Error of LoadKernelFile, without the path, if it is refused.
  std::string solver;            // "opencl.NAME", if it is not.
  std::optional<KernelUse> use;  // Only for kAnother.
};

// Classifies mutations; keeps the intact files that it has read.
class MutantClassifier {
 public:
  KernelMutant Classify(const KernelMutation& mutation);

 private:
  const KernelFile& IntactFileOf(const KernelMutation& mutation);

  MutantFolder folder_;
  std::map<std::string, KernelFile> intact_;  // By file name.
};

}  // namespace attune::kernel
