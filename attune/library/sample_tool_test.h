// A tool for tests: a shell script, described in a folder of its own.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/library/tool_library.h"
#include "attune/problem/other_op.h"

namespace attune {

class SampleTool {
 public:
  // `script` is run by sh with the words block and n.
  explicit SampleTool(std::string_view script) {
    const auto write = [&](const char* name, const std::string& content) {
      EXPECT_TRUE(WriteFileAtomically(folder_->path() / name, content).ok());
    };
    write("run.sh", std::string(script));
    write("tool.json", R"({"attune_tool": 1, "name": "sample", "version": "1", "operator": "vadd",
      "timeout_ms": 1500, "success": {"never_prints": "FAILED"},
      "solvers": [{"name": "one", "argv": ["/bin/sh", "{folder}/run.sh", "{block}", "{n}"],
                   "environment": {"SOLVER": "{solver}"}, "parameters": {"block": [64, 128, 4096]},
                   "constraints": ["block <= n"]}]})");
    auto library = ToolLibrary::Open(path());
    EXPECT_TRUE(library.ok()) << library.status().message();
    if (library.ok()) library_ = std::move(*library);
  }

  std::filesystem::path folder() const { return folder_->path(); }
  std::filesystem::path path() const { return folder_->path() / "tool.json"; }
  const ToolLibrary& library() const { return *library_; }

  static Problem Vadd(int n) { return OtherOp{"vadd", {{"n", std::to_string(n)}}}; }
  static Candidate WithBlock(int64_t block) { return {{"tool.sample-one", 1}, {{"block", block}}}; }

 private:
  const std::unique_ptr<ScratchFolder> folder_ = *ScratchFolder::Make("attune-sample-tool");
  std::unique_ptr<ToolLibrary> library_;
};

}  // namespace attune
