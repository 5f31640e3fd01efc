#include "attune/kernel/data_file.h"

#include <stdlib.h>

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/base/file.h"
#include "attune/base/gzip.h"
#include "attune/base/scratch_folder.h"
#include "attune/kernel/own_kernel.h"

namespace attune::kernel {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

const std::string kBefore("\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 16);     // 0, 1, 2, 3
const std::string kAfter("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16);  // 1, 2, 3, 4

Json FileOf(const std::string& path, const std::string& content) {
  return {{"path", path}, {"xxh128", FingerprintOf(content).ToHex()}};
}

Json Captured() {
  Json json = Json::parse(R"json({
    "attune_kernel_file": 4, "name": "bump", "operator": "kernel", "sources": ["bump.cl"],
    "sizes": {"run_time": ["n"], "usual": {"n": 4}},
    "operands": [{"name": "x", "type": "f32", "shape": [4], "access": "inout"}],
    "parameters": [{"name": "WG", "values": [4]}],
    "compile_options": ["-cl-std=CL1.1", "-cl-mad-enable"],
    "launches": [{"function": "bump", "local": ["WG"], "groups": [1],
      "arguments": [{"operand": "x"}, {"int": "n"}, {"bytes": "0000803f00ff"}]}],
    "tolerance": {"relative": 1e-5}
})json");
  json["operands"][0]["fill"] = {{"file", FileOf("x.before.gz", kBefore)}};
  json["reference"] = {{"data", {{"x", FileOf("x.after", kAfter)}}}};
  return json;
}

Status ErrorAfter(const std::function<void(Json&)>& change) {
  Json json = Captured();
  change(json);
  return ParseKernelFile(json.dump(), KernelLanguage::kOpenCl).status();
}

// The captured kernel in a folder, which ATTUNE_KERNEL_PATH names.
class DataFileTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFileAtomically(folder() / "bump.json", Captured().dump()).ok());
    ASSERT_TRUE(WriteFileAtomically(folder() / "bump.cl", "__kernel void bump() {}").ok());
    ASSERT_TRUE(WriteFileAtomically(folder() / "x.before.gz", *Gzip(kBefore)).ok());
    ASSERT_TRUE(WriteFileAtomically(folder() / "x.after", kAfter).ok());
    ::setenv("ATTUNE_KERNEL_PATH", folder().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("ATTUNE_KERNEL_PATH"); }

  std::filesystem::path folder() const { return scratch_->path(); }
  // The status of ReadOwnData for the kernel in the folder, and the values that it read.
  Result<std::string> ReadBefore(int64_t n = 4) const {
    ATTUNE_ASSIGN_OR_RETURN(const KernelFile file, LoadOwnKernel(folder() / "bump.json", "opencl"));
    ATTUNE_ASSIGN_OR_RETURN(const Problem problem, MakeOwnProblem(file, {{"n", n}}));
    ATTUNE_ASSIGN_OR_RETURN(const OwnKernelProblem own, OwnKernelOf(problem));
    std::string memory(16, '?');
    ATTUNE_RETURN_IF_ERROR(ReadOwnData(own, 0, std::as_writable_bytes(std::span(memory))));
    return memory;
  }

  std::unique_ptr<ScratchFolder> scratch_ = *ScratchFolder::Make("attune-data-file-test");
};

TEST_F(DataFileTest, AnOperandHoldsWhatItsFileHolds) {
  const auto memory = ReadBefore();

  ASSERT_TRUE(memory.ok()) << memory.error().message();
  EXPECT_EQ(*memory, kBefore);
}

TEST_F(DataFileTest, AFileThatIsCutOffDamagedOrAnotherIsNamed) {
  const std::string packed = *Gzip(kBefore);
  const auto expect = [&](const std::string& content, const char* what) {
    ASSERT_TRUE(WriteFileAtomically(folder() / "x.before.gz", content).ok());
    const auto memory = ReadBefore();
    ASSERT_FALSE(memory.ok());
    EXPECT_THAT(memory.error().message(), HasSubstr((folder() / "x.before.gz").string()));
    EXPECT_THAT(memory.error().message(), HasSubstr(what));
    EXPECT_THAT(memory.error().message(), HasSubstr("Capture the launch again"));
    EXPECT_EQ(memory.error().code(), StatusCode::kDataLoss);
  };

  expect(packed.substr(0, packed.size() - 9), "cut off");
  expect("", "not packed by gzip");
  expect(*Gzip(kAfter), "other bytes");
  expect(*Gzip(kBefore + "more"), "More than 16 bytes");
  expect(std::string(100'000, 'x'), "has more than 4112 bytes, where 16 were captured");
  expect(*Gzip(kBefore.substr(4)), "holds 12 bytes, and the operand has 16");
  ASSERT_TRUE(std::filesystem::remove(folder() / "x.before.gz"));
  EXPECT_EQ(ReadBefore().status().code(), StatusCode::kNotFound);
}

TEST_F(DataFileTest, AnEditedKernelIsNotTakenForTheOneOfTheProblem) {
  const KernelFile file = *LoadOwnKernel(folder() / "bump.json", "opencl");
  const OwnKernelProblem own = *OwnKernelOf(*MakeOwnProblem(file, {{"n", 4}}));
  ASSERT_TRUE(WriteFileAtomically(folder() / "bump.cl", "// edited").ok());
  std::string memory(16, '?');

  const Status status = ReadOwnData(own, 0, std::as_writable_bytes(std::span(memory)));

  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("has the data of kernel bump"));
}

TEST(CapturedKernelFileTest, IsReadWithItsFilesOptionsAndBytes) {
  const auto file = ParseKernelFile(Captured().dump(), KernelLanguage::kOpenCl);

  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->own->operands[0].data->path, "x.before.gz");
  EXPECT_EQ(file->own->operands[0].data->hash, FingerprintOf(kBefore));
  EXPECT_EQ(file->own->reference.data.at("x").hash, FingerprintOf(kAfter));
  EXPECT_THAT(file->compile_options, testing::ElementsAre("-cl-std=CL1.1", "-cl-mad-enable"));
  EXPECT_EQ(file->launches[0].arguments[2].name, "0000803f00ff");
}

TEST(CapturedKernelFileTest, WhatIsWrongIsNamed) {
  const auto expect = [](const std::function<void(Json&)>& change, const char* what) {
    EXPECT_THAT(ErrorAfter(change).message(), HasSubstr(what));
  };

  expect([](Json& json) { json["attune_kernel_file"] = 3; }, "is a key of version 4");
  expect([](Json& json) { json["operands"][0]["fill"]["file"]["xxh128"] = "ff"; },
         "/operands/0/fill/file/xxh128: 'ff' is not 32 hexadecimal digits");
  expect([](Json& json) { json["operands"][0]["fill"]["file"].erase("xxh128"); }, "xxh128");
  expect([](Json& json) { json["operands"][0]["fill"]["file"]["path"] = std::string("a\0b", 3); },
         "control character");
  expect([](Json& json) { json["reference"]["data"].clear(); }, "no file for operand 'x'");
  expect([](Json& json) { json["reference"]["data"]["y"] = 1; }, "'y' is no operand");
  expect([](Json& json) { json["reference"]["data"] = 1; }, "must be an object");
  expect([](Json& json) { json["launches"][0]["arguments"][2]["bytes"] = "abc"; }, "even number");
  expect([](Json& json) { json["launches"][0]["arguments"][2]["bytes"] = "AB"; }, "even number");
  expect([](Json& json) { json["compile_options"][0] = "-D A"; }, "'-D A' is no option");
  expect([](Json& json) { json["compile_options"][0] = "x.o"; }, "'x.o' is no option");
  expect([](Json& json) { json["language"] = {"opencl", "cuda"}; }, "has two languages");
}

}  // namespace
}  // namespace attune::kernel
