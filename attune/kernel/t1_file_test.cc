#include "attune/kernel/t1_file.h"

#include <filesystem>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/own_kernel.h"

namespace attune::kernel {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

Json Stencil() { return Json::parse(*ReadFile(ATTUNE_T1_FOLDER "/stencil.json")); }

TEST(T1FileTest, AKernelIsReadWithItsSpaceItsSizesAndItsGeometry) {
  const auto file = LoadKernelFile(ATTUNE_T1_FOLDER "/stencil.json", KernelLanguage::kOpenCl);
  ASSERT_TRUE(file.ok()) << file.error().message();

  const auto problem = MakeOwnProblem(*file, file->own->usual_sizes);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  const auto own = *OwnKernelOf(*problem);
  EXPECT_EQ(own.name, "stencil");
  EXPECT_EQ(own.buffers[0].extents, (std::vector<int64_t>{4004}));
  EXPECT_EQ(own.buffers[0].fill, (BufferFill{BufferFill::Kind::kUniform, 0, 2}));
  EXPECT_EQ(own.buffers[1].role, OperandRole::kOut);
  const auto space = *MakeSpace(*file, *problem, {});
  EXPECT_EQ(space.size(), 10u);  // All but 16 x 1 and 128 x 4.
  EXPECT_EQ(attune::Text(space.At(0)), "block_size_x=64,tile=1");
  const auto plan =
      MakePlan(*file, *problem, {{"block_size_x", int64_t{64}}, {"tile", int64_t{2}}});
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->launches[0].local, (std::vector<int64_t>{64, 1, 1}));
  EXPECT_EQ(plan->launches[0].groups, (std::vector<int64_t>{32, 1, 1}));
  const auto source = *MakeSource(*file, *problem, space.At(0));
  EXPECT_THAT(source, HasSubstr("#define problem_size_x 4000\n"));
  EXPECT_THAT(source, HasSubstr("#define kernel_tuner 1\n"));
}

TEST(T1FileTest, AGlobalSizeCountsGroupsOrWorkItemsAsItsTypeSays) {
  const auto groups = [](const Json& type) {
    Json json = Stencil();
    Json& kernel = json["KernelSpecification"];
    kernel.erase("ProblemSize");
    kernel["Arguments"] = Json::array();
    for (const char* name : {"out", "in"}) {
      kernel["Arguments"].push_back({{"Name", name},
                                     {"Type", "float"},
                                     {"MemoryType", "Vector"},
                                     {"AccessType", "ReadWrite"},
                                     {"FillType", "Constant"},
                                     {"Size", "4096"}});
    }
    kernel["GlobalSize"] = {{"X", "4096"}};
    kernel["GlobalSizeType"] = type;
    const auto converted = KernelFileOfT1(json);
    EXPECT_TRUE(converted.ok()) << converted.status().message();
    return converted.ok() ? (*converted)["launches"][0]["groups"][0].get<std::string>() : "";
  };

  EXPECT_EQ(groups("CUDA"), "4096");
  EXPECT_EQ(groups("cuda"), "4096");
  for (const Json& type : {Json("OpenCL"), Json()}) {
    EXPECT_THAT(groups(type), HasSubstr("ceil_div(4096, "));
  }
}

TEST(T1FileTest, WhatCannotBeExpressedIsRefusedByName) {
  struct Case {
    std::function<void(Json&)> change;
    const char* place;
    const char* reason;
  };
  const auto kernel = [](Json& j) -> Json& { return j["KernelSpecification"]; };
  const Case cases[] = {
      {[&](Json& j) { kernel(j)["Language"] = "HIP"; }, "/KernelSpecification/Language", "'HIP'"},
      {[&](Json& j) { kernel(j)["CompilerOptions"][0] = "-use_fast_math"; },
       "/KernelSpecification/CompilerOptions/0", "'-use_fast_math'"},
      {[&](Json& j) { kernel(j)["Misc"] = 1; }, "/KernelSpecification/Misc", "unknown key"},
      {[&](Json& j) { kernel(j)["Stream"] = 3; }, "/KernelSpecification/Stream", "stream"},
      {[&](Json& j) { kernel(j)["GlobalSizeType"] = "SYCL"; },
       "/KernelSpecification/GlobalSizeType", "'SYCL' is not CUDA or OpenCL"},
      {[&](Json& j) { kernel(j)["SharedMemory"] = 64; }, "/KernelSpecification/SharedMemory",
       "argument"},
      {[&](Json& j) { kernel(j)["Arguments"][1]["MemType"] = "Constant"; },
       "/KernelSpecification/Arguments/1/MemType", "\"Constant\""},
      {[&](Json& j) { kernel(j)["Arguments"][1]["FillType"] = "BinaryRaw"; },
       "/KernelSpecification/Arguments/1/FillType", "'BinaryRaw'"},
      {[&](Json& j) { kernel(j)["Arguments"][1]["Type"] = "uint64"; },
       "/KernelSpecification/Arguments/1/Type", "'uint64'"},
      {[&](Json& j) { kernel(j)["Arguments"][2].erase("FillValue"); },
       "/KernelSpecification/Arguments/2", "FillValue"},
      {[](Json& j) {
         j["ConfigurationSpace"]["TuningParameters"][0]["Values"] = "[2**i for i in range(4)]";
       },
       "/ConfigurationSpace/TuningParameters/0/Values", "computed"},
      {[](Json& j) { j["ConfigurationSpace"]["TuningParameters"][0]["Default"] = 7; },
       "/ConfigurationSpace/TuningParameters/0/Default", "7 is not among"},
      {[](Json& j) { j["ConfigurationSpace"]["TuningParameters"][0]["Type"] = "double"; },
       "/ConfigurationSpace/TuningParameters/0/Type", "'double' is not int"},
      {[](Json& j) { j["ConfigurationSpace"]["TuningParameters"][0]["Type"] = Json(); },
       "/ConfigurationSpace/TuningParameters/0/Type", "null"},
      {[](Json& j) { j["ConfigurationSpace"]["TuningParameters"][0]["Type"] = "string"; },
       "/ConfigurationSpace/TuningParameters/0/Values",
       "64 is not of the parameter's type, string"},
      {[](Json& j) { j["ConfigurationSpace"]["TuningParameters"][1]["Type"] = "bool"; },
       "/ConfigurationSpace/TuningParameters/1/Values", "2 is not of"},
      {[](Json& j) { j["ConfigurationSpace"]["Conditions"][0]["Parameters"][1] = "tail"; },
       "/ConfigurationSpace/Conditions/0/Parameters/1", "'tail' is no parameter"},
      {[](Json& j) { j["ConfigurationSpace"]["Conditions"][0]["Parameters"].erase(1); },
       "/ConfigurationSpace/Conditions/0/Parameters", "has no 'tile', which"},
      {[](Json& j) { j["ConfigurationSpace"]["Conditions"][0] = 1; },
       "/ConfigurationSpace/Conditions/0", "must be an object"}};

  for (const Case& one : cases) {
    Json json = Stencil();
    one.change(json);
    const auto converted = KernelFileOfT1(json);
    ASSERT_FALSE(converted.ok()) << one.place;
    EXPECT_THAT(converted.error().message(), HasSubstr(one.place));
    EXPECT_THAT(converted.error().message(), HasSubstr(one.reason));
  }
}

TEST(T1FileTest, ListsThatNestWithoutEndAreNoValues) {
  Json json = Stencil();
  json["ConfigurationSpace"]["TuningParameters"][0]["Values"] =
      std::string(100'000, '[') + std::string(100'000, ']');

  const Status refused = KernelFileOfT1(json).status();

  EXPECT_THAT(refused.message(), HasSubstr("/ConfigurationSpace/TuningParameters/0/Values"));
  EXPECT_LT(refused.message().size(), 300u);
}

TEST(T1FileTest, AKeyThatStandsTwiceIsRefusedWithItsPlace) {
  const auto folder = *ScratchFolder::Make("t1");
  std::string json = *ReadFile(ATTUNE_T1_FOLDER "/stencil.json");
  json.replace(json.find("\"KernelFile\""), 12, "\"KernelName\"");
  const auto path = folder->path() / "twice.json";
  ASSERT_TRUE(WriteFileAtomically(path, json).ok());

  const auto file = LoadKernelFile(path, KernelLanguage::kOpenCl);

  EXPECT_THAT(file.status().message(),
              HasSubstr("/KernelSpecification/KernelName: the key 'KernelName' stands twice"));
}

TEST(T1FileTest, ValuesMayBeOfEachTypeThatT1Has) {
  const std::pair<const char*, const char*> typed[] = {{"int", "[-1, 64, True]"},
                                                       {"uint", "[64, 0]"},
                                                       {"float", "[64, 0.5]"},
                                                       {"bool", "[True, False, 1, 0]"},
                                                       {"string", "['a', 'b']"}};
  for (const auto& [type, values] : typed) {
    Json json = Stencil();
    Json& parameter = json["ConfigurationSpace"]["TuningParameters"][0];
    parameter = {{"Name", "block_size_x"}, {"Type", type}, {"Values", values}};

    const auto converted = KernelFileOfT1(json);

    EXPECT_TRUE(converted.ok()) << type << converted.status().message();
  }
}

Result<PlannedLaunch> LaunchOf(const Json& t1, const Config& config) {
  ATTUNE_ASSIGN_OR_RETURN(const Json converted, KernelFileOfT1(t1));
  ATTUNE_ASSIGN_OR_RETURN(const KernelFile file,
                          ParseKernelFile(converted.dump(), KernelLanguage::kOpenCl));
  ATTUNE_ASSIGN_OR_RETURN(const Problem problem, MakeOwnProblem(file, file.own->usual_sizes));
  ATTUNE_ASSIGN_OR_RETURN(const KernelPlan plan, MakePlan(file, problem, config));
  return plan.launches[0];
}

// A kernel of 64 x 64 without LocalSize and GridDiv, and with the parameters `names`.
Json Plane(const std::vector<std::string>& names) {
  Json json = Stencil();
  Json& kernel = json["KernelSpecification"];
  for (const char* const key : {"LocalSize", "GridDivX"}) kernel.erase(key);
  kernel["ProblemSize"] = {64, 64};
  kernel["Arguments"][1]["Size"] = "ProblemSize[0]";
  json["ConfigurationSpace"] = {{"TuningParameters", Json::array()}};
  for (const std::string& name : names) {
    json["ConfigurationSpace"]["TuningParameters"].push_back(
        {{"Name", name}, {"Type", "int"}, {"Values", "[4, 16]"}});
  }
  return json;
}

TEST(T1FileTest, GeometryThatIsNotSaidIsThatOfKernelTuner) {
  const int64_t four = 4;
  const int64_t sixteen = 16;
  Json json = Plane({"block_size_x", "block_size_y"});
  json["KernelSpecification"]["GridDivY"] = nullptr;

  const auto both = LaunchOf(json, {{"block_size_x", sixteen}, {"block_size_y", four}});
  const auto y_alone = LaunchOf(Plane({"block_size_y"}), {{"block_size_y", four}});

  ASSERT_TRUE(both.ok() && y_alone.ok()) << both.status().message();
  EXPECT_EQ(both->local, (std::vector<int64_t>{16, 4, 1}));
  EXPECT_EQ(both->groups, (std::vector<int64_t>{4, 16, 1}));
  EXPECT_EQ(y_alone->local, (std::vector<int64_t>{256, 4, 1}));
  EXPECT_EQ(y_alone->groups, (std::vector<int64_t>{64, 16, 1}));
}

TEST(T1FileTest, ADivisorIsMadeAnIntegerAndABlockSizeThatIsNoParameterIsTheUsualOne) {
  Json json = Plane({"block_size_x"});
  json["KernelSpecification"]["GridDivX"] = {"block_size_x / 2"};
  json["KernelSpecification"]["LocalSize"] = {
      {"X", "block_size_x"}, {"Y", "1"}, {"Z", "block_size_z"}};

  const auto launch = LaunchOf(json, {{"block_size_x", int64_t{16}}});

  ASSERT_TRUE(launch.ok()) << launch.status().message();
  EXPECT_EQ(launch->local, (std::vector<int64_t>{16, 1, 1}));
  EXPECT_EQ(launch->groups, (std::vector<int64_t>{8, 64, 1}));
}

TEST(T1FileTest, WorkGroupsThatCannotBeToldAreRefused) {
  Json no_y = Plane({"block_size_y"});
  no_y["KernelSpecification"]["LocalSize"] = {{"X", "16"}};
  Json nothing = Plane({});
  nothing["KernelSpecification"].erase("ProblemSize");
  nothing["KernelSpecification"]["GlobalSize"] = {{"X", "64"}};

  EXPECT_EQ(
      KernelFileOfT1(no_y).status().message(),
      "/KernelSpecification/LocalSize: has no Y, and whether that is 1 or block_size_y cannot "
      "be told.");
  EXPECT_THAT(KernelFileOfT1(nothing).status().message(), HasSubstr("has no LocalSize"));
}

TEST(T1FileTest, ErrorsOfTheKernelFileAreAtTheirPlaceInT1) {
  EXPECT_EQ(PlaceInT1("/constraints/2"), "/ConfigurationSpace/Conditions/2/Expression");
  EXPECT_EQ(PlaceInT1("/parameters/1/values/3"), "/ConfigurationSpace/TuningParameters/1/Values");
  EXPECT_EQ(PlaceInT1("/launches/0/arguments/4/int"), "/KernelSpecification/Arguments/4");
  EXPECT_EQ(PlaceInT1("/launches/0/groups/1"), "/KernelSpecification");
  Json json = Stencil();
  json["ConfigurationSpace"]["Conditions"][0]["Expression"] = "foo > 1";
  const auto path = std::filesystem::path(testing::TempDir()) / "t1_file_test_condition.json";
  ASSERT_TRUE(WriteFileAtomically(path, json.dump(1)).ok());

  const auto file = LoadKernelFile(path, KernelLanguage::kOpenCl);

  EXPECT_THAT(file.status().message(),
              testing::MatchesRegex(".*t1_file_test_condition.json:[0-9]+:[0-9]+: "
                                    "/ConfigurationSpace/Conditions/0/Expression: .*'foo'.*"));
}

TEST(T1FileTest, NumbersThatAreNotFiniteAreRefusedInTheKernelAlone) {
  const std::string text = Stencil().dump(1);
  const auto load = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    EXPECT_NE(changed.find(from), std::string::npos) << from;
    changed.replace(changed.find(from), from.size(), to);
    const auto path = std::filesystem::path(testing::TempDir()) / "t1_file_test_finite.json";
    EXPECT_TRUE(WriteFileAtomically(path, changed).ok());
    EXPECT_TRUE(WriteFileAtomically(path.parent_path() / "stencil.cl", "kernel\n").ok());
    return LoadKernelFile(path, KernelLanguage::kOpenCl).status().message();
  };

  EXPECT_EQ(load("{", "{\"Budget\": [{\"BudgetValue\": Infinity, \"Best\": NaN}],"), "");
  EXPECT_THAT(
      load("\"FillValue\": 0.0", "\"FillValue\": NaN"),
      testing::MatchesRegex(".*finite.json:[0-9]+:[0-9]+: "
                            "/KernelSpecification/Arguments/0/FillValue: nan is no value .*"));
  EXPECT_THAT(load("{", "{\"General\": NaNs,"), HasSubstr("finite.json: line 1, column 13: "));
}

TEST(T1FileTest, AConditionThatLeavesNothingIsAtItsPlaceInT1) {
  Json json = Stencil();
  json["ConfigurationSpace"]["Conditions"][0]["Expression"] = "block_size_x * tile > 4096";
  json["KernelSpecification"]["KernelFile"] = "t1_file_test_stencil.cl";
  const std::filesystem::path folder = testing::TempDir();
  ASSERT_TRUE(WriteFileAtomically(folder / "t1_file_test_stencil.cl", "kernel\n").ok());
  ASSERT_TRUE(WriteFileAtomically(folder / "t1_file_test_empty.json", json.dump(1)).ok());
  const auto file = LoadKernelFile(folder / "t1_file_test_empty.json", KernelLanguage::kOpenCl);
  ASSERT_TRUE(file.ok()) << file.error().message();

  const auto space = MakeSpace(*file, *MakeOwnProblem(*file, file->own->usual_sizes), {});

  EXPECT_THAT(space.status().message(),
              testing::MatchesRegex(".*t1_file_test_empty.json:[0-9]+:[0-9]+: "
                                    "/ConfigurationSpace/Conditions/0/Expression: No config.*"));
}

TEST(T1FileTest, ACudaKernelKeepsItsDynamicSharedMemory) {
  Json json = Stencil();
  json["KernelSpecification"]["Language"] = "CUDA";
  json["KernelSpecification"]["KernelFile"] = "stencil.cu";
  json["KernelSpecification"]["SharedMemory"] = "block_size_x * 4";

  const auto converted = KernelFileOfT1(json);

  ASSERT_TRUE(converted.ok()) << converted.error().message();
  const auto file = ParseKernelFile(converted->dump(), KernelLanguage::kCuda);
  ASSERT_TRUE(file.ok()) << file.error().message();
  const auto problem = *MakeOwnProblem(*file, file->own->usual_sizes);
  const auto plan = MakePlan(*file, problem, {{"block_size_x", int64_t{64}}, {"tile", int64_t{2}}});
  EXPECT_EQ(plan->launches[0].shared_bytes, 256);
}

TEST(T1FileTest, AnInstanceOfATemplateIsCalledSoInCudaAlone) {
  Json json = Stencil();
  json["KernelSpecification"]["KernelName"] = "stencil<tile>";
  const auto opencl = KernelFileOfT1(json);
  json["KernelSpecification"]["Language"] = "CUDA";
  json["KernelSpecification"]["KernelFile"] = "stencil.cu";
  const auto cuda = KernelFileOfT1(json);
  ASSERT_TRUE(opencl.ok() && cuda.ok());

  const auto file = ParseKernelFile(cuda->dump(), KernelLanguage::kCuda);

  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->launches[0].function, "stencil<tile>");
  EXPECT_EQ(file->name, "stencil_tile_");
  EXPECT_THAT(ParseKernelFile(opencl->dump(), KernelLanguage::kOpenCl).status().message(),
              HasSubstr("'stencil<tile>' is a kernel of CUDA C++"));
}

}  // namespace
}  // namespace attune::kernel
