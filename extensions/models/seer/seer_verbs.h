// The verbs below `attune seer`, one source file each, and their shared parts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/attune/verbs.h"
#include "extensions/models/seer/evaluation.h"
#include "extensions/models/seer/seer_file.h"

namespace attune::seer {

void AddCollectVerb(CLI::App& seer, Invocation& invocation);
void AddTrainVerb(CLI::App& seer, Invocation& invocation);
void AddEvaluateVerb(CLI::App& seer, Invocation& invocation);
void AddPickVerb(CLI::App& seer, Invocation& invocation);
void AddOccupancyVerb(CLI::App& seer, Invocation& invocation);
void AddParseVerb(CLI::App& seer, Invocation& invocation);

// --algorithm-order cudnn|readme.
void AddOrderOption(CLI::App& verb, AlgorithmOrder& order);

// Contents of the files, concatenated. Errors name the file and the line.
Result<std::vector<KernelRecord>> ReadKernelFiles(std::span<const std::string> files,
                                                  AlgorithmOrder order);
Result<std::vector<OperatorTime>> ReadOperatorFiles(std::span<const std::string> files);
Result<std::vector<AlgorithmTimes>> ReadTimesFiles(std::span<const std::string> files,
                                                   AlgorithmOrder order);
Result<std::vector<Layer>> ReadConfigurationFiles(std::span<const std::string> files);
Result<SeerFile> ReadModelFile(const std::string& file);

// Display name: "compute", "DRAM", "under-utilised".
std::string_view NameOf(KernelClass kernel_class);
// "implicit GEMM": cuDNN's name of a forward algorithm, in short.
std::string_view AlgorithmName(int algorithm);

// A note about records left out of tables because no single variant launches so many blocks; empty
// if there are none.
std::string LeftOutNote(const SortedRecords& sorted);

}  // namespace attune::seer
