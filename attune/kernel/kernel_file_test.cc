#include "attune/kernel/kernel_file.h"

#include <sys/stat.h>

#include <cstdlib>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/base/file.h"
#include "attune/base/random.h"
#include "attune/base/scratch_folder.h"
#include "attune/kernel/kernel_library.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/problem_fields.h"
#include "attune/kernel/shipped_files_test.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::kernel {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

Json SmallFile() {
  return Json::parse(R"json({
    "attune_kernel_file": 1, "name": "test-gemm", "version": 3, "description": "A test.",
    "operator": "gemm", "sources": ["test.cl"],
    "sizes": {"run_time": ["m", "n", "lda", "ldb", "ldc", "batch_count", "stride_a", "stride_b", "stride_c"],
              "compile_time": ["k"]},
    "applies": ["type == 'f32'", "k <= 4096"],
    "parameters": [{"name": "WG", "values": [8, 16, 64]}, {"name": "MODE", "values": ["fast", "small"]}],
    "constraints": ["WG <= max_work_group_size", "WG * 4 <= local_memory_bytes"],
    "definitions": [{"name": "HALF", "value": "WG / 2"}, {"name": "FULL", "value": "HALF * 2 + k"}],
    "variables": [{"name": "rows", "value": "ceil_div(m, WG)"}, {"name": "all", "value": "rows * n"}],
    "workspace_bytes": "m * n * 4",
    "launches": [{"function": "f", "when": "n > 1", "local": ["WG", 1], "groups": ["rows", "n"],
      "arguments": [{"operand": "a"}, {"offset_of": "workspace"}, {"int": "m"}, {"real": "alpha"},
                    {"local_bytes": "WG * 4"}]},
      {"function": "g", "local": [1], "groups": ["all"], "arguments": [{"operand": "bias"}, {"float": 3}]}]
})json");
}

Result<KernelFile> ReadForOpenCl(std::string_view json) {
  return ParseKernelFile(json, KernelLanguage::kOpenCl);
}

Status ErrorAfter(const std::function<void(Json&)>& change) {
  Json file = SmallFile();
  change(file);
  return ReadForOpenCl(file.dump()).status();
}

TEST(KernelFileTest, WholeFileIsRead) {
  const auto file = ReadForOpenCl(SmallFile().dump());

  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->name, "test-gemm");
  EXPECT_EQ(file->version, 3);
  EXPECT_EQ(file->parameters[1].values[1], ParameterValue("small"));
  EXPECT_EQ(file->launches[0].arguments[1].name, "workspace");
  EXPECT_FALSE(file->dynamic());
}

TEST(KernelFileTest, FileWithoutCompileTimeSizesIsDynamic) {
  Json json = SmallFile();
  json["sizes"]["compile_time"] = Json::array();
  json["sizes"]["run_time"].push_back("k");
  json["definitions"][1]["value"] = "HALF";

  const auto file = ReadForOpenCl(json.dump());

  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_TRUE(file->dynamic());
}

struct Mistake {
  const char* what;
  std::function<void(Json&)> change;
  const char* place;
  const char* reason;
};

const Mistake kMistakes[] = {
    {"missing key", [](Json& f) { f.erase("name"); }, "(the whole file)", "'name' is missing"},
    {"unknown key", [](Json& f) { f["wrokspace"] = 1; }, "/wrokspace", "unknown key"},
    {"other format", [](Json& f) { f["attune_kernel_file"] = 10; }, "/attune_kernel_file",
     "reads versions 1 to 9"},
    {"bad name", [](Json& f) { f["name"] = "Test"; }, "/name", "a-z"},
    {"version 0", [](Json& f) { f["version"] = 0; }, "/version", "1 to"},
    {"version too large", [](Json& f) { f["version"] = UINT64_MAX; }, "/version", "larger"},
    {"operator", [](Json& f) { f["operator"] = "pool"; }, "/operator",
     "conv, gemm, softmax, kernel"},
    {"way out", [](Json& f) { f["sources"][0] = "../x.cl"; }, "/sources/0", "in the folder"},
    {"undeclared size", [](Json& f) { f["sizes"]["run_time"].erase(0); }, "/sizes",
     "'m' is declared neither"},
    {"size twice", [](Json& f) { f["sizes"]["compile_time"].push_back("m"); },
     "/sizes/compile_time/1", "twice"},
    {"no size", [](Json& f) { f["sizes"]["run_time"][0] = "q"; }, "/sizes/run_time/0",
     "not a size"},
    {"value twice", [](Json& f) { f["parameters"][0]["values"][2] = 8; }, "/parameters/0/values/2",
     "twice"},
    {"mixed values", [](Json& f) { f["parameters"][0]["values"][2] = "x"; },
     "/parameters/0/values/2", "mixed"},
    {"real value", [](Json& f) { f["parameters"][0]["values"][2] = 0.5; }, "/parameters/0/values/2",
     "must be an integer or a name and is number"},
    {"no values", [](Json& f) { f["parameters"][0]["values"] = Json::array(); },
     "/parameters/0/values", "0 elem"},
    {"taken name", [](Json& f) { f["parameters"][0]["name"] = "m"; }, "/parameters/0/name",
     "taken"},
    {"macro of a size", [](Json& f) { f["parameters"][0]["name"] = "M"; }, "/parameters/0/name",
     "taken"},
    {"syntax", [](Json& f) { f["applies"][1] = "k <="; }, "/applies/1", "in 'k <='"},
    {"unknown name", [](Json& f) { f["applies"][1] = "kk < 4"; }, "/applies/1", "does not exist"},
    {"parameter too early", [](Json& f) { f["applies"][1] = "WG < 4"; }, "/applies/1",
     "reads 'WG', which is not known where"},
    {"variable too early", [](Json& f) { f["constraints"][0] = "all < 4"; }, "/constraints/0",
     "reads 'all', which is not known where"},
    {"run-time size compiled in", [](Json& f) { f["definitions"][0]["value"] = "m / 2"; },
     "/definitions/0/value", "reads 'm', which is not known where"},
    {"run-time work-group", [](Json& f) { f["launches"][0]["local"][0] = "m"; },
     "/launches/0/local/0", "'m'"},
    {"later variable", [](Json& f) { f["variables"][0]["value"] = "all"; }, "/variables/0/value",
     "reads 'all', which is not known where"},
    {"dimensions", [](Json& f) { f["launches"][0]["groups"].erase(1); }, "/launches/0/groups",
     "1 dimensions"},
    {"operand",
     [](Json& f) {
       f["launches"][0]["arguments"][0] = {{"operand", "x"}};
     },
     "/launches/0/arguments/0/operand", "not an operand"},
    {"two kinds", [](Json& f) { f["launches"][0]["arguments"][2]["long"] = "n"; },
     "/launches/0/arguments/2", "exactly one"},
    {"alpha as int", [](Json& f) { f["launches"][0]["arguments"][2]["int"] = "alpha"; },
     "/launches/0/arguments/2", "alpha"},
    {"cost of a definition",
     [](Json& f) {
       f["attune_kernel_file"] = 2;
       f["cost"] = "HALF";
     },
     "/cost", "HALF"},
    {"cost in version 1", [](Json& f) { f["cost"] = "WG"; }, "/cost", "version 2"},
    {"run-time parameter in version 1", [](Json& f) { f["parameters"][0]["run_time"] = 1; },
     "/parameters/0/run_time", "version 9"},
    {"run-time parameter compiled in",
     [](Json& f) {
       f["attune_kernel_file"] = 9;
       f["parameters"][0]["run_time"] = 1;
     },
     "/definitions/0/value", "reads 'WG', which is not known where"},
    {"run-time parameter of 2",
     [](Json& f) {
       f["attune_kernel_file"] = 9;
       f["parameters"][0]["run_time"] = 2;
     },
     "/parameters/0/run_time", "0 to 1"},
    {"cluster in version 1",
     [](Json& f) {
       f["launches"][0]["cluster"] = {2, 1};
     },
     "/launches/0/cluster", "version 9"},
    {"cluster in OpenCL",
     [](Json& f) {
       f["attune_kernel_file"] = 9;
       f["launches"][0]["cluster"] = {2, 1};
     },
     "/launches/0/cluster", "is of CUDA"},
    {"workspace", [](Json& f) { f.erase("workspace_bytes"); }, "/launches/0/arguments/1",
     "no workspace"},
    {"no launches", [](Json& f) { f["launches"] = Json::array(); }, "/launches", "0 elements"},
    {"control character", [](Json& f) { f["description"] = "a\nb"; }, "/description", "control"},
    {"wrong type", [](Json& f) { f["launches"] = "x"; }, "/launches", "must be an array"},
    {"null", [](Json& f) { f["workspace_bytes"] = nullptr; }, "/workspace_bytes",
     "is of type null"},
    {"too many combinations",
     [](Json& f) {
       Json values = Json::array();
       for (int i = 0; i < 60; ++i) values.push_back(i);
       for (int i = 0; i < 4; ++i) {
         f["parameters"].push_back({{"name", fmt::format("P{}", i)}, {"values", values}});
       }
     },
     "/parameters/4", "combinations"},
};

TEST(KernelFileTest, EveryMistakeIsReportedWithItsPlace) {
  for (const Mistake& mistake : kMistakes) {
    const Status status = ErrorAfter(mistake.change);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << mistake.what;
    EXPECT_THAT(status.message(), StartsWith(std::string(mistake.place) + ": ")) << mistake.what;
    EXPECT_THAT(status.message(), HasSubstr(mistake.reason)) << mistake.what;
  }
}

TEST(KernelFileTest, TextThatIsNotJsonIsReportedWithLineAndColumn) {
  const Status status = ReadForOpenCl("{\n  \"name\": 1,\n  \"x\" 2\n}").status();

  EXPECT_THAT(status.message(), StartsWith("line 3, column 7: "));
}

TEST(KernelFileTest, DuplicateKeyIsAnErrorAndNotTheLastOneWins) {
  std::string text = SmallFile().dump();
  text.insert(1, "\"version\": 1, ");

  EXPECT_EQ(ReadForOpenCl(text).status().message(),
            "line 1, column 907: /version: the key 'version' stands twice in one object.");
}

TEST(KernelFileTest, DuplicateKeysAndDepthWithinArraysAreReportedWithTheElement) {
  std::string text = SmallFile().dump();
  const size_t arguments = text.find("{\"offset_of\"");
  ASSERT_NE(arguments, std::string::npos);
  std::string twice = text;
  twice.insert(arguments + 1, "\"offset_of\":\"a\",");
  std::string deep = text;
  deep.insert(arguments, std::string(9, '[') + std::string(9, ']') + ",");

  EXPECT_THAT(ReadForOpenCl(twice).status().message(),
              HasSubstr(": /launches/0/arguments/1/offset_of: the key 'offset_of' stands twice"));
  EXPECT_THAT(ReadForOpenCl(deep).status().message(),
              HasSubstr(": /launches/0/arguments/1/0/0/0/0: more than 8 levels"));
}

TEST(KernelFileTest, DeepAndHugeFilesAreRefused) {
  EXPECT_THAT(ReadForOpenCl(std::string(100000, '[')).status().message(), HasSubstr("levels"));
  EXPECT_THAT(ReadForOpenCl(std::string(kMaxKernelFileBytes + 1, ' ')).status().message(),
              HasSubstr("bytes"));
}

TEST(KernelFileTest, InvalidUtf8IsRefused) {
  std::string text = SmallFile().dump();
  text.replace(text.find("A test."), 1, "\xff");

  EXPECT_THAT(ReadForOpenCl(text).status().message(), StartsWith("line 1, column "));
}

TEST(KernelFileTest, DerivedSizeNeedsAllOthersFixed) {
  auto conv = LoadKernelFile(ShippedFile("conv_direct.json"), KernelLanguage::kOpenCl);
  ASSERT_TRUE(conv.ok()) << conv.status().ToString();
  Json json = Json::parse(*ReadFile(ShippedFile("conv_direct.json")));
  json["sizes"]["compile_time"].push_back("out_h");

  EXPECT_THAT(ReadForOpenCl(json.dump()).status().message(),
              StartsWith("/sizes/compile_time: 'out_h'"));
}

TEST(KernelFileTest, MissingSourceIsReportedByPath) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "attune_kernel_file_test";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(WriteFileAtomically(folder / "a.json", SmallFile().dump()).ok());

  const Status status = LoadKernelFile(folder / "a.json", KernelLanguage::kOpenCl).status();
  const KernelLibrary library = LoadKernelLibrary({folder}, KernelLanguage::kOpenCl);
  std::filesystem::remove_all(folder);

  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("a.json: /sources/0: "));
  ASSERT_EQ(library.reports.size(), 1u);
  EXPECT_FALSE(library.reports[0].available);
  EXPECT_THAT(library.reports[0].missing, HasSubstr("test.cl"));
}

// Each process that compiles opens the file again, so that a pipe cannot serve them all.
TEST(KernelFileTest, APipeIsRefusedAndNotWaitedFor) {
  const auto folder = *ScratchFolder::Make("attune-kernel-file");
  const auto path = folder->path() / "a.json";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(LoadKernelFile(path, KernelLanguage::kOpenCl).status().message(),
              HasSubstr("a.json' is a pipe"));

  std::filesystem::remove(path);
  ASSERT_TRUE(WriteFileAtomically(path, SmallFile().dump()).ok());
  ASSERT_EQ(::mkfifo((folder->path() / "test.cl").c_str(), 0600), 0);
  EXPECT_THAT(LoadKernelFile(path, KernelLanguage::kOpenCl).status().message(),
              AllOf(HasSubstr("/sources/0: "), HasSubstr("test.cl' is a pipe")));
}

TEST(KernelLibraryTest, EarlierFolderReplacesAKernelOfTheSameName) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "attune_kernel_library_test";
  for (const char* sub : {"mine", "shipped"}) {
    std::filesystem::create_directories(folder / sub);
    Json json = SmallFile();
    json["version"] = sub == std::string("mine") ? 7 : 1;
    ASSERT_TRUE(WriteFileAtomically(folder / sub / "a.json", json.dump()).ok());
    ASSERT_TRUE(WriteFileAtomically(folder / sub / "b.json", json.dump()).ok());
    ASSERT_TRUE(WriteFileAtomically(folder / sub / "test.cl", "// Nothing.").ok());
  }

  const KernelLibrary library = LoadKernelLibrary(
      {folder / "mine", folder / "shipped", folder / "absent"}, KernelLanguage::kOpenCl);
  std::filesystem::remove_all(folder);

  ASSERT_EQ(library.files.size(), 1u);
  EXPECT_EQ(library.files[0].version, 7);
  ASSERT_EQ(library.reports.size(), 2u);  // The second file of the same folder is a mistake.
  EXPECT_THAT(library.reports[1].missing, HasSubstr("is the name of"));
}

TEST(KernelLibraryTest, ABrokenFileInAFolderThatTheUserNamedIsReportedAsChosen) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "attune_kernel_broken_test";
  for (const char* sub : {"mine", "shipped"}) {
    std::filesystem::create_directories(folder / sub);
    ASSERT_TRUE(WriteFileAtomically(folder / sub / "a.json", "{}").ok());
  }

  ::setenv("ATTUNE_KERNEL_PATH", (folder / "mine").c_str(), 1);
  const KernelLibrary library =
      LoadKernelLibrary({folder / "mine", folder / "shipped"}, KernelLanguage::kOpenCl);
  ::unsetenv("ATTUNE_KERNEL_PATH");
  std::filesystem::remove_all(folder);

  ASSERT_EQ(library.reports.size(), 2u);
  EXPECT_EQ(library.reports[0].chosen_by, "ATTUNE_KERNEL_PATH");
  EXPECT_EQ(library.reports[1].chosen_by, "");
}

TEST(KernelLibraryTest, AFolderThatTheUserNamedAndIsNotThereIsReported) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "attune_kernel_folder_test";
  std::filesystem::create_directories(folder);
  const std::string path = folder.string() + "::" + (folder / "absent").string();

  ::setenv("ATTUNE_KERNEL_PATH", path.c_str(), 1);
  const auto reports = MissingKernelFolders();
  ::setenv("ATTUNE_KERNEL_PATH", "", 1);
  const auto without = MissingKernelFolders();
  ::unsetenv("ATTUNE_KERNEL_PATH");
  std::filesystem::remove_all(folder);

  ASSERT_EQ(reports.size(), 1u);
  EXPECT_FALSE(reports[0].available);
  EXPECT_EQ(reports[0].chosen_by, "ATTUNE_KERNEL_PATH");
  EXPECT_THAT(reports[0].missing, HasSubstr("absent: No such file or directory"));
  EXPECT_TRUE(without.empty());
}

TEST(KernelPlanTest, ExpressionsBecomeNumbers) {
  const auto file = ReadForOpenCl(SmallFile().dump());
  Gemm gemm = PackedGemm(100, 3, 50);

  const auto plan =
      MakePlan(*file, gemm, Config{{"WG", int64_t{16}}, {"MODE", std::string("fast")}});

  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->workspace_bytes, 1200);
  ASSERT_EQ(plan->launches.size(), 2u);
  EXPECT_EQ(plan->launches[0].local, (std::vector<int64_t>{16, 1}));
  EXPECT_EQ(plan->launches[0].groups, (std::vector<int64_t>{7, 3}));
  EXPECT_EQ(plan->launches[0].arguments[3].kind, KernelArgument::Kind::kFloat);
  EXPECT_EQ(plan->launches[1].groups, (std::vector<int64_t>{21}));
  EXPECT_EQ(*ParseKernelPlan(Text(*plan)), *plan);
}

TEST(KernelPlanTest, LaunchWhoseConditionFailsIsLeftOut) {
  const auto file = ReadForOpenCl(SmallFile().dump());

  const auto plan = MakePlan(*file, PackedGemm(100, 1, 50),
                             Config{{"WG", int64_t{16}}, {"MODE", std::string("fast")}});

  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->launches.size(), 1u);
  EXPECT_EQ(plan->launches[0].function, "g");
}

TEST(KernelPlanTest, ImpossibleGeometryIsUnsupportedWithItsValue) {
  Json json = SmallFile();
  json["launches"][1]["groups"][0] = "m - 100";
  const auto file = ReadForOpenCl(json.dump());

  const auto plan = MakePlan(*file, PackedGemm(100, 3, 50),
                             Config{{"WG", int64_t{16}}, {"MODE", std::string("fast")}});

  EXPECT_EQ(plan.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(plan.status().message(), HasSubstr("'m - 100' is 0"));
}

TEST(KernelPlanTest, SourceDependsOnCompileTimeSizesOnly) {
  const auto file = ReadForOpenCl(SmallFile().dump());
  const Config config = {{"WG", int64_t{16}}, {"MODE", std::string("fast")}};

  const std::string source = *MakeSource(*file, PackedGemm(100, 3, 50), config);

  EXPECT_EQ(source, *MakeSource(*file, PackedGemm(7, 8, 50), config));
  EXPECT_NE(source, *MakeSource(*file, PackedGemm(100, 3, 51), config));
  EXPECT_THAT(source, HasSubstr("#define M m\n"));
  EXPECT_THAT(source, HasSubstr("#define K 50\n"));
  EXPECT_THAT(source, HasSubstr("#define MODE fast\n"));
  EXPECT_THAT(source, HasSubstr("#define FULL 66\n"));
}

TEST(ProblemFieldsTest, EveryDeclaredNameHasAValueAndEveryValueAName) {
  for (const Problem& problem : {Problem(PackedGemm(2, 3, 4)), Problem(Conv{})}) {
    const FieldNames& names = *FieldNamesOf(OperatorName(problem));
    std::set<std::string> declared(names.sizes.begin(), names.sizes.end());
    declared.insert(names.derived.begin(), names.derived.end());
    declared.insert(names.classes.begin(), names.classes.end());
    std::set<std::string> valued;
    for (const auto& [name, value] : FieldsOf(problem)) valued.insert(name);

    EXPECT_EQ(valued, declared);
  }
}

TEST(ProblemFieldsTest, SmallestProblemKeepsWhatIsCompiledInAndStaysValid) {
  Conv conv;
  conv.batch = 8;
  conv.in_channels = conv.out_channels = 64;
  conv.groups = 4;
  conv.in = {1, 56, 56};
  conv.filter = {1, 5, 5};
  conv.dilation = {1, 2, 1};

  const Conv none = (*SmallestLike(conv, {})).Get<Conv>();
  const Conv filter = (*SmallestLike(conv, {"filter_h", "filter_w", "dilation_h"})).Get<Conv>();
  const Conv groups = (*SmallestLike(conv, {"groups"})).Get<Conv>();

  EXPECT_EQ(none.in, (Spatial{1, 1, 1}));
  EXPECT_EQ(none.in_channels, 1);
  EXPECT_EQ(filter.in, (Spatial{1, 9, 5}));
  EXPECT_EQ(groups.out_channels, 4);
}

TEST(KernelFileTest, EveryTruncatedOrDamagedByteIsReportedOrLeavesAReadableFile) {
  const std::string original = *ReadFile(ShippedFile("gemm_tiled.json"));
  Random random(21);

  for (int i = 0; i < 1000; ++i) {
    std::string changed = original;
    const size_t place = random.Below(changed.size());
    if (i % 2 == 0) {
      changed.resize(place);
    } else {
      changed[place] = static_cast<char>(random.Below(256));
    }
    const auto file = ReadForOpenCl(changed);
    if (i % 2 == 0 && place + 1 < original.size()) {
      EXPECT_FALSE(file.ok());
    }
    if (file.ok()) continue;
    EXPECT_THAT(file.status().message(), AnyOf(StartsWith("/"), StartsWith("(the whole file): "),
                                               MatchesRegex("line [0-9]+, column .*")));
  }
}

std::vector<std::string> WorkGroupsOf(const ConfigSpace& space) {
  std::vector<std::string> sizes;
  for (uint64_t i = 0; i < space.size(); ++i)
    sizes.push_back(std::to_string(std::get<int64_t>(space.At(i).at("WG"))));
  return sizes;
}

TEST(KernelFileTest, ConfigsAreSortedByTheirCostForTheProblem) {
  Json json = SmallFile();
  json["attune_kernel_file"] = 2;
  json["parameters"].erase(1);
  json["cost"] = "abs(m - WG)";
  const auto file = ReadForOpenCl(json.dump());
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const Config limits = {{"max_work_group_size", int64_t{256}},
                         {"local_memory_bytes", int64_t{32768}},
                         {"language", "opencl"}};

  const auto sorted = MakeSortedSpace(*file, PackedGemm(60, 5, 7), limits);
  const auto unsorted = MakeSpace(*file, PackedGemm(60, 5, 7), limits);

  ASSERT_TRUE(sorted.ok()) << sorted.status().ToString();
  EXPECT_THAT(WorkGroupsOf(*sorted), ElementsAre("8", "64", "16"));
  EXPECT_THAT(WorkGroupsOf(*unsorted), ElementsAre("8", "16", "64"));
  EXPECT_EQ(sorted->guesses(), 3u);
}

TEST(KernelFileTest, ACostThatHasNoValueIsTold) {
  Json json = SmallFile();
  json["attune_kernel_file"] = 2;
  json["cost"] = "WG / (n - 5)";
  const auto file = ReadForOpenCl(json.dump());
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const Config limits = {{"max_work_group_size", int64_t{256}},
                         {"local_memory_bytes", int64_t{32768}}};

  const auto sorted = MakeSortedSpace(*file, PackedGemm(60, 5, 7), limits);

  EXPECT_EQ(sorted.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(sorted.status().message(), HasSubstr("'WG / (n - 5)' has no value"));
}

}  // namespace
}  // namespace attune::kernel
