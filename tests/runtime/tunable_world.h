// A world with the tunable layer on, and the state that its tests check.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/base/file.h"
#include "attune/tunable.h"
#include "storage/sql/sql_store.h"
#include "tests/runtime/runtime_world.h"

namespace attune {

using Json = nlohmann::json;
using Variables = std::map<std::string, std::string>;

// A world with the tunable layer switched on and its files in the world's folder.
class TunableRuntime : public testing::Test {
 protected:
  TunableRuntime() {
    Set({{"ENABLED", "1"},
         {"ROTATING_BUFFER_SIZE", "0"},
         {"FILENAME", results_path()},
         {"UNTUNED_FILENAME", (world_.folder() / "untuned.csv").string()}});
  }

  void Set(const Variables& variables) {
    for (const auto& [name, value] : variables) {
      world_.Set(("ATTUNE_TUNABLE_" + name).c_str(), value);
    }
  }

  // The environment's names take the ordinal of the device.
  std::string results_path() const { return (world_.folder() / "results.csv").string(); }
  std::string Results() const { return Content("results0.csv"); }
  std::string Untuned() const { return Content("untuned0.csv"); }
  std::string untuned_file() const { return (world_.folder() / "untuned0.csv").string(); }

  std::vector<RecordedSet> Sets() const {
    std::vector<RecordedSet> sets;
    const auto store = OpenSqlStore(world_.database());
    EXPECT_TRUE(store.ok()) << store.status().message();
    if (!store.ok()) return sets;
    EXPECT_TRUE((*store)
                    ->Visit({},
                            [&](const RecordedSet& set) {
                              sets.push_back(set);
                              return Status::Ok();
                            })
                    .ok());
    return sets;
  }

  std::vector<Trial> Trials() const {
    std::vector<Trial> trials;
    for (const RecordedSet& set : Sets()) {
      for (const Record& record : set.records) trials.push_back(record.trial);
    }
    EXPECT_FALSE(trials.empty());
    return trials;
  }

  // Tunes a product of this size before it is computed.
  void TuneInline(int64_t size) {
    EventLog log;
    const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE);
    ASSERT_NE(runtime, nullptr) << attune_last_message();
    log.Listen(runtime.get());
    ASSERT_TRUE(Multiply(runtime.get(), size)) << attune_last_message();
    ASSERT_EQ(CountersOf(runtime.get()).tunings, 1u) << log.Message(ATTUNE_EVENT_TUNING_FAILED);
  }

  std::string Content(const char* name) const {
    const auto content = ReadFile(world_.folder() / name);
    return content.ok() ? *content : "";
  }

  RuntimeWorld world_;
};

inline Json Explained(attune_runtime* runtime) {
  char* text = nullptr;
  EXPECT_EQ(attune_explain(runtime, "gemm@1{m=16,n=16,k=16}", &text), ATTUNE_OK)
      << attune_last_message();
  Json explained = Json::parse(text == nullptr ? "{}" : text);
  attune_free(text);
  return explained;
}

inline attune_tunable_counters TunableCountersOf(attune_runtime* runtime) {
  attune_tunable_counters counters = ATTUNE_TUNABLE_COUNTERS_INIT;
  EXPECT_EQ(attune_tunable_get_counters(runtime, &counters), ATTUNE_OK);
  return counters;
}

inline std::set<std::string> SolversOf(const std::vector<Trial>& trials) {
  std::set<std::string> solvers;
  for (const Trial& trial : trials) solvers.insert(trial.candidate.solver.name);
  return solvers;
}

// The first two columns of every line that is no validator.
inline std::set<std::string> KeysIn(const std::string& content) {
  std::set<std::string> keys;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const std::string line = content.substr(begin, end - begin);
    const size_t comma = line.find(',');
    if (!line.starts_with("Validator,") && comma != std::string::npos) {
      keys.insert(line.substr(0, line.find(',', comma + 1)));
    }
    begin = end + 1;
  }
  return keys;
}

}  // namespace attune
