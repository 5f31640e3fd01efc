// The verbs of the extension `models`, and the parts that those below `attune model` share.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/json_text.h"
#include "apps/attune/verbs.h"
#include "attune/index/record_samples.h"
#include "attune/model/evaluation.h"
#include "attune/model/model_file.h"

namespace attune {

void AddModelVerb(CLI::App& program, Invocation& invocation);
void AddReplayVerb(CLI::App& program, Invocation& invocation);
void AddSeerVerb(CLI::App& program, Invocation& invocation);

namespace model {

void AddFitVerb(CLI::App& verb, Invocation& invocation);
void AddEvaluateVerb(CLI::App& verb, Invocation& invocation);
void AddShowVerb(CLI::App& verb, Invocation& invocation);

// The source of samples: records of the database unless files are named.
struct Sources {
  std::vector<std::string> find_dbs;  // MIOpen's.
  std::vector<std::string> tables;    // CSV.
  std::string device;                 // For records; empty: as in other verbs.
  std::string operator_name;          // Empty: the only one.
  std::string origin_device;          // Device of the model; empty: from the source.
  std::string origin_library;         // The same.
  bool dry_run = false;               // Query the launches of candidates on the device.
};
void AddSourceOptions(CLI::App& verb, Sources& sources);

Result<TimeSamples> ReadData(Application& application, const Sources& sources);

// The features that a model file names. kUnsupported for unknown ones.
Result<FeatureSet> FeaturesNamed(const std::string& name);

Json ScoreJson(const ModelScore& score);
std::string ScoreText(const ModelScore& score);

}  // namespace model
}  // namespace attune
