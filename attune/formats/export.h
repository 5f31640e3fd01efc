// Exports of choices: JSON, CSV and PyTorch TunableOp's results file. docs/formats/lists.md.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "attune/record/select.h"

namespace attune {

// A JSON object in one line: problem, target, candidate, provenance, median_ns, low_ns, high_ns,
// confidence, cache, default_candidate, default_median_ns, speedup, speedup_low, speedup_high,
// roofline_fraction, workspace_bytes, set_id. Values that were not measured are null: times, and
// the speed-ups of untuned problems. Bytes that are not UTF-8 become U+FFFD.
std::string ChoiceAsJson(const Choice& choice);

// These objects as "choices" of an object with the "format" "attune-choices@1", indented by two
// blanks. Ends with a line end.
std::string ExportJson(std::span<const Choice> choices);

// The same fields as columns, a header line first; fields quoted as in RFC 4180, lines end with \n.
// Values that were not measured are empty.
std::string ExportCsv(std::span<const Choice> choices);

struct TunableOpExport {
  std::string content;
  std::vector<std::string> skipped;  // A sentence for each choice that has no line.
};

// Which choices have a line.
enum class TunableOpLines {
  kAll,
  kOfCublasLt,  // Algorithms that PyTorch can run by their names.
};

// A TunableOp results file: `validators` as header lines, then `op,params,solution,milliseconds`
// for each measured gemm. The solution is TunableOp's name of an algorithm of cuBLASLt, else the
// candidate's text with %XX escapes, since the file has no quotes. Among choices with problems that
// TunableOp cannot distinguish, the first has a line and the others are skipped.
TunableOpExport ExportTunableOp(std::span<const Choice> choices,
                                const std::map<std::string, std::string>& validators,
                                TunableOpLines lines = TunableOpLines::kAll);

// The validators of a PyTorch of this version ("2.14.0") on a CUDA device, which accepts only a
// file with exactly these: PT_VERSION, CUBLASLT_VERSION, CUDA_DEVICE. kUnsupported for another
// device, and for an environment without cuBLASLt.
Result<std::map<std::string, std::string>> PyTorchValidators(const std::string& pytorch_version,
                                                             const Target& target,
                                                             const Environment& environment);

}  // namespace attune
