#include "attune/kernel/own_kernel.h"

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/kernel/kernel_library.h"
#include "attune/kernel/kernel_plan.h"

namespace attune::kernel {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr KernelLanguage kOpenCl = KernelLanguage::kOpenCl;

Json Scale() {
  return Json::parse(R"json({
    "attune_kernel_file": 3, "name": "scale", "operator": "kernel", "sources": ["scale.cl"],
    "sizes": {"run_time": ["n"], "compile_time": ["width"]},
    "operands": [
      {"name": "y", "type": "f32", "shape": ["n", "width"], "access": "out"},
      {"name": "x", "type": "f32", "shape": ["n", "width"], "access": "in", "fill": {"normal": [0, 2.5]}},
      {"name": "order", "type": "i32", "shape": ["n / 2"], "access": "in", "fill": {"uniform": [0, "n - 1"]}}
    ],
    "parameters": [{"name": "WG", "values": [64, 32, 128]}, {"name": "factor", "values": [0.5, 2.0]}],
    "constraints": ["WG <= max_work_group_size", "n % WG == 0"],
    "launches": [{"function": "scale", "local": ["WG"], "groups": ["ceil_div(n, WG)"],
      "arguments": [{"operand": "x"}, {"operand": "y"}, {"operand": "order"}, {"int": "n"}, {"float": 0}]}],
    "reference": {"config": {"WG": 32}},
    "tolerance": {"relative": 1e-5}
})json");
}

Result<KernelFile> Read(const Json& json) { return ParseKernelFile(json.dump(), kOpenCl); }

Status ErrorAfter(const std::function<void(Json&)>& change) {
  Json json = Scale();
  change(json);
  const auto file = Read(json);
  return file.status();
}

TEST(OwnKernelFileTest, ItsProblemHasItsOperandsInputsFirst) {
  const auto file = Read(Scale());
  ASSERT_TRUE(file.ok()) << file.error().message();

  const auto problem = MakeOwnProblem(*file, {{"n", 256}, {"width", 4}});

  ASSERT_TRUE(problem.ok()) << problem.error().message();
  const auto own = *OwnKernelOf(*problem);
  ASSERT_EQ(own.buffers.size(), 3u);
  EXPECT_EQ(own.buffers[0].name, "x");
  EXPECT_EQ(own.buffers[0].fill, (BufferFill{BufferFill::Kind::kNormal, 0, 2.5}));
  EXPECT_EQ(own.buffers[1].extents, (std::vector<int64_t>{128}));
  EXPECT_EQ(own.buffers[1].fill, (BufferFill{BufferFill::Kind::kUniform, 0, 255}));
  EXPECT_EQ(own.buffers[2].role, OperandRole::kOut);
  EXPECT_EQ(own.relative_tolerance, 1e-5);
}

TEST(OwnKernelFileTest, SizesReachItsSpaceItsSourceAndItsPlan) {
  const auto file = *Read(Scale());
  const Problem problem = *MakeOwnProblem(file, {{"n", 96}, {"width", 4}});
  const Config limits = {{"max_work_group_size", int64_t{64}}};

  const auto space = MakeSpace(file, problem, limits);
  ASSERT_TRUE(space.ok()) << space.error().message();
  EXPECT_EQ(space->size(), 2u);  // 96 is a multiple of 32 alone.
  const Config config = space->At(0);
  EXPECT_EQ(attune::Text(config), "WG=32,factor=0.5");
  const auto source = MakeSource(file, problem, config);
  ASSERT_TRUE(source.ok()) << source.error().message();
  EXPECT_EQ(*source, "#define WIDTH 4\n#define WG 32\n#define factor 0.5\n");
  const auto plan = MakePlan(file, problem, config);
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->launches[0].groups, (std::vector<int64_t>{3}));
  EXPECT_EQ(plan->operand_bytes.at("y"), 96 * 4 * 4);
}

TEST(OwnKernelFileTest, MistakesAreNamedByPlaceAndReason) {
  struct Mistake {
    std::function<void(Json&)> change;
    const char* place;
    const char* reason;
  };
  const Mistake mistakes[] = {
      {[](Json& j) { j["attune_kernel_file"] = 2; }, "/operator", "version 3"},
      {[](Json& j) { j.erase("tolerance"); }, "(the whole file)", "'tolerance' is missing"},
      {[](Json& j) { j["operands"][0]["shape"][0] = "m"; }, "/operands/0", "'m'"},
      {[](Json& j) { j["operands"][0]["shape"][0] = "n +"; }, "/operands/0/shape/0", "n +"},
      {[](Json& j) { j["operands"][0]["type"] = "u8"; }, "/operands/0/type", "'u8'"},
      {[](Json& j) {
         j["operands"][0]["fill"] = Json{{"constant", 0}};
       },
       "/operands/0/fill", "only written"},
      {[](Json& j) { j["operands"][0]["access"] = "in"; }, "/operands", "no operand is written"},
      {[](Json& j) { j["operands"][2].erase("fill"); }, "/operands/2", "need a 'fill'"},
      {[](Json& j) { j["operands"][1]["name"] = "y"; }, "/operands/1", "two operands 'y'"},
      {[](Json& j) {
         j["operands"][1]["fill"] = Json{{"noise", 1}};
       },
       "/operands/1/fill/noise", "unknown key"},
      {[](Json& j) {
         j["reference"] = Json{{"file", "x.json"}};
       },
       "/reference/file", "unknown key. Known here: config, launches"},
      {[](Json& j) { j["sizes"]["run_time"][0] = "width"; }, "/sizes/compile_time/0", "twice"},
      {[](Json& j) { j["constraints"][0] = "WG <= most"; }, "/constraints/0", "'most'"},
      {[](Json& j) { j["launches"][0]["groups"][0] = "blocks"; }, "/launches/0/groups/0",
       "'blocks'"},
      {[](Json& j) {
         j["launches"][0]["arguments"][0] = Json{{"operand", "z"}};
       },
       "/launches/0/arguments/0/operand", "'z'"},
      {[](Json& j) {
         j["launches"][0]["arguments"][4] = Json{{"float", "alpha"}};
       },
       "/launches/0/arguments/4", "'alpha'"},
      {[](Json& j) { j["reference"]["config"]["WQ"] = 1; }, "/config/WQ", "not a parameter"},
      {[](Json& j) { j["reference"]["program"] = Json::array({"x"}); }, "/reference", "is one of"},
      {[](Json& j) {
         j["reference"] = Json{{"launches", Json::array()}};
       },
       "/reference/launches", "0 elements"},
      {[](Json& j) {
         j["reference"] = Json{{"config", Json::array()}};
       },
       "/reference/config", "must be an object"},
      {[](Json& j) { j["tolerance"]["relative"] = -1; }, "/tolerance/relative", "from 0"}};

  for (const Mistake& mistake : mistakes) {
    const Status status = ErrorAfter(mistake.change);
    EXPECT_THAT(status.message(), HasSubstr(mistake.place));
    EXPECT_THAT(status.message(), HasSubstr(mistake.reason));
  }
}

std::vector<ParameterValue> ValuesOf(const Json& values) {
  Json json = Scale();
  json["parameters"].push_back({{"name", "EXTRA"}, {"values", values}});
  const auto file = Read(json);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? file->parameters.back().values : std::vector<ParameterValue>();
}

TEST(OwnKernelFileTest, ParametersAreOfAnyKind) {
  using Values = std::vector<ParameterValue>;

  EXPECT_EQ(ValuesOf({1, 0.5, 2}), (Values{1.0, 0.5, 2.0}));
  EXPECT_EQ(ValuesOf({INT64_MIN, int64_t{1} << 40, INT64_MAX}),
            (Values{INT64_MIN, int64_t{1} << 40, INT64_MAX}));
  EXPECT_EQ(ValuesOf({true, false, 2}), (Values{int64_t{1}, int64_t{0}, int64_t{2}}));
  EXPECT_EQ(ValuesOf({"half", "float"}), (Values{std::string("half"), std::string("float")}));
}

TEST(OwnKernelFileTest, ValuesThatCannotBeOfOneKindAreRefused) {
  const auto error = [](const Json& values) {
    return ErrorAfter([&](Json& json) {
             json["parameters"].push_back({{"name", "EXTRA"}, {"values", values}});
           })
        .message();
  };

  EXPECT_THAT(error({1, "half"}), HasSubstr("numbers and names are mixed"));
  EXPECT_THAT(error({1, 0.5, 1.0}), HasSubstr("the value 1.0 stands twice"));
  EXPECT_THAT(error({0.5, (int64_t{1} << 53) + 1}), HasSubstr("9007199254740993 would be rounded"));
  EXPECT_THAT(error({uint64_t{1} << 63}), HasSubstr("and is larger"));
  EXPECT_THAT(error({1, Json::array()}),
              HasSubstr("values/1: must be a number, a name, true or false and is array"));
}

TEST(OwnKernelFileTest, TheSmallestIntegerIsAMacroOfC) {
  Json json = Scale();
  json["parameters"].push_back({{"name", "EXTRA"}, {"values", {INT64_MIN}}});
  const auto file = *Read(json);
  const Problem problem = *MakeOwnProblem(file, {{"n", 64}, {"width", 1}});
  Config config;
  for (const Parameter& parameter : file.parameters) config[parameter.name] = parameter.values[0];

  const auto source = MakeSource(file, problem, config);

  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_THAT(*source, HasSubstr("#define EXTRA (-9223372036854775807 - 1)\n"));
}

TEST(OwnKernelFileTest, AFileWithoutAnOperatorIsToldSo) {
  EXPECT_THAT(ErrorAfter([](Json& json) { json.erase("operator"); }).message(),
              HasSubstr("the key 'operator' is missing"));
}

TEST(OwnKernelFileTest, SizesThatAreMissingUnknownOrFitNothingAreNamed) {
  const auto file = *Read(Scale());

  EXPECT_THAT(MakeOwnProblem(file, {{"n", 4}}).error().message(), HasSubstr("'width'"));
  EXPECT_THAT(MakeOwnProblem(file, {{"n", 4}, {"width", 1}, {"k", 1}}).error().message(),
              HasSubstr("no size 'k'"));
  EXPECT_THAT(MakeOwnProblem(file, {{"n", 1}, {"width", 1}}).error().message(),
              HasSubstr("/operands/2/shape/0: 'n / 2' for n=1,width=1: It is 0"));
  const Problem odd = *MakeOwnProblem(file, {{"n", 97}, {"width", 1}});
  EXPECT_FALSE(MakeSpace(file, odd, {{"max_work_group_size", int64_t{64}}}).ok());
}

TEST(OwnKernelFileTest, DivisionByZeroInAShapeSaysWhere) {
  Json json = Scale();
  json["operands"][1]["shape"][0] = "n / width";
  const auto file = *Read(json);

  const Status status = MakeOwnProblem(file, {{"n", 4}, {"width", 0}}).status();

  EXPECT_THAT(status.message(), HasSubstr("/operands/1/shape/0: 'n / width'"));
  EXPECT_THAT(status.message(), HasSubstr("zero"));
}

TEST(OwnKernelFileTest, SizesOfACommandLineAreReadOrRefused) {
  EXPECT_EQ(*ParseSizes("m=4096,n=1"), (OwnSizes{{"m", 4096}, {"n", 1}}));
  EXPECT_THAT(ParseSizes("m=4x").error().message(), HasSubstr("'m=4x'"));
  EXPECT_THAT(ParseSizes("m").error().message(), HasSubstr("'m'"));
  EXPECT_THAT(ParseSizes("=3").error().message(), HasSubstr("'=3'"));
  EXPECT_THAT(ParseSizes("m=1,m=2").error().message(), HasSubstr("twice"));
}

TEST(OwnKernelFileTest, AnErrorOfAFileSaysItsLine) {
  const auto folder = *ScratchFolder::Make("attune-own-kernel-test");
  Json json = Scale();
  json["constraints"][1] = "n % WQ == 0";
  ASSERT_TRUE(WriteFileAtomically(folder->path() / "scale.json", json.dump(1)).ok());

  const auto file = LoadKernelFile(folder->path() / "scale.json", kOpenCl);

  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message(), HasSubstr("scale.json:5:3: /constraints/1: "));
}

TEST(OwnKernelFileTest, AConstraintThatLeavesNothingSaysItsLine) {
  const auto folder = *ScratchFolder::Make("attune-own-kernel-test");
  Json json = Scale();
  json["constraints"][1] = "n % WG == n + 1";
  ASSERT_TRUE(WriteFileAtomically(folder->path() / "scale.cl", "kernel\n").ok());
  ASSERT_TRUE(WriteFileAtomically(folder->path() / "scale.json", json.dump(1)).ok());
  const auto file = LoadKernelFile(folder->path() / "scale.json", kOpenCl);
  ASSERT_TRUE(file.ok()) << file.error().message();

  const auto space = MakeSpace(*file, *MakeOwnProblem(*file, {{"n", 64}, {"width", 4}}),
                               {{"max_work_group_size", int64_t{64}}});

  EXPECT_THAT(space.status().message(),
              HasSubstr("scale.json:5:3: /constraints/1: No config is valid: constraint "));
}

class OwnKernelLibraryTest : public testing::Test {
 protected:
  std::filesystem::path Write(const std::string& name, const std::string& text) {
    const auto path = folder_->path() / name;
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }
  const std::unique_ptr<ScratchFolder> folder_ = *ScratchFolder::Make("attune-own-kernel-test");
};

TEST_F(OwnKernelLibraryTest, AKernelBringsItsReferenceAsALastResort) {
  Write("scale.cl", "kernel void scale() {}");
  const auto path = Write("scale.json", Scale().dump());

  const KernelLibrary library = LoadKernelLibrary({path}, kOpenCl);

  ASSERT_EQ(library.files.size(), 2u) << library.reports[0].missing;
  EXPECT_EQ(library.files[1].name, "scale.reference");
  EXPECT_TRUE(TraitsOf(library.files[1]).last_resort);
  EXPECT_FALSE(TraitsOf(library.files[0]).last_resort);
  const Problem problem = *MakeOwnProblem(library.files[0], {{"n", 64}, {"width", 1}});
  EXPECT_TRUE(CheckApplies(library.files[1], problem, {}).ok());
  EXPECT_EQ(MakeSpace(library.files[1], problem, {})->size(), 1u);
}

TEST_F(OwnKernelLibraryTest, WhoNamesNoBackendGetsTheFirstLanguageThatItIsWrittenIn) {
  Write("scale.cl", "kernel void scale() {}");
  Write("scale.cu", "extern \"C\" __global__ void scale() {}");
  Json json = Scale();
  json["language"] = {"cuda", "opencl"};
  const auto both = LoadOwnKernel(Write("both.json", json.dump()));
  json.erase("language");
  json["sources"] = {"scale.cu"};
  json["constraints"] = Json::array();
  const auto cuda = LoadOwnKernel(Write("cuda.json", json.dump()));
  json["sources"] = {"none.cu"};
  const auto none = LoadOwnKernel(Write("none.json", json.dump()));

  ASSERT_TRUE(both.ok()) << both.error().message();
  EXPECT_EQ(both->language, KernelLanguage::kOpenCl);
  ASSERT_TRUE(cuda.ok()) << cuda.error().message();
  EXPECT_EQ(cuda->language, KernelLanguage::kCuda);
  EXPECT_THAT(none.status().message(), HasSubstr("none.cu"));
}

TEST_F(OwnKernelLibraryTest, CompiledCodeIsRefusedByName) {
  const auto path = Write("scale.json", Scale().dump());
  const std::pair<std::string, const char*> contents[] = {
      {"\x7f"
       "ELF\2\1",
       "'scale.cl' is machine code (ELF)"},
      {"\x03\x02\x23\x07\x01", "'scale.cl' is SPIR-V"},
      {"poclbin\x08", "'scale.cl' is a program binary of PoCL"},
      {"// Generated\n//\n.version 8.4\n.target sm_90", "'scale.cl' is PTX"},
  };
  for (const auto& [content, what] : contents) {
    Write("scale.cl", content);
    const auto file = LoadKernelFile(path, kOpenCl);
    ASSERT_FALSE(file.ok());
    EXPECT_THAT(file.error().message(), HasSubstr("scale.json:"));
    EXPECT_THAT(file.error().message(), HasSubstr(what));
  }
  Write("scale.cl", std::string("// Half of it.\n\0kernel", 22));
  EXPECT_THAT(LoadKernelFile(path, kOpenCl).status().message(),
              HasSubstr("/sources/0: 'scale.cl' is no text: byte 16 is zero."));
  for (const std::string name : {"step.cubin", "step.ptx", "step.spv", "step.fatbin"}) {
    const Status status = ErrorAfter([&](Json& j) { j["sources"][0] = name; });
    EXPECT_THAT(status.message(), HasSubstr("/sources/0: '" + name + "' is "));
    EXPECT_THAT(status.message(), HasSubstr("Name the source that it was made of"));
  }
}

Json Binary() {
  Json json = Scale();
  json["attune_kernel_file"] = 6;
  json["language"] = "opencl";
  json.erase("sources");
  json["binary"] = "scale.bin";
  json["sizes"] = {{"run_time", {"n", "width"}}};
  return json;
}

TEST_F(OwnKernelLibraryTest, ABinaryIsWhatItIsAndItsConfigsAreOneProgram) {
  const std::string bytes("poclbin\0\1\xff", 10);
  Write("scale.bin", bytes);
  const auto path = Write("scale.json", Binary().dump());

  const auto file = LoadKernelFile(path, kOpenCl);

  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_TRUE(file->is_binary);
  const Problem problem = *MakeOwnProblem(*file, {{"n", 64}, {"width", 1}});
  const auto space = MakeSpace(*file, problem, {{"max_work_group_size", int64_t{64}}});
  ASSERT_TRUE(space.ok()) << space.error().message();
  for (uint64_t i = 0; i < space->size(); ++i) {
    EXPECT_EQ(*MakeSource(*file, problem, space->At(i)), bytes);
  }
  Json json = Binary();
  json["launches"][0]["function"] = "_ZN2at6native" + std::string(1000, 'x') + "$1";
  EXPECT_TRUE(Read(json).ok()) << Read(json).status().message();
  Write("scale.bin", bytes + "other");
  EXPECT_NE(LoadKernelFile(path, kOpenCl)->own->content, file->own->content);
  Write("scale.bin", "");
  EXPECT_THAT(LoadKernelFile(path, kOpenCl).status().message(),
              HasSubstr("/binary: 'scale.bin' has 0 bytes"));
}

TEST(OwnKernelFileTest, WhatABinaryCannotHaveIsNamed) {
  const std::pair<std::function<void(Json&)>, const char*> kMistakes[] = {
      {[](Json& j) { j["attune_kernel_file"] = 5; }, "version 6"},
      {[](Json& j) { j["sources"] = {"scale.cl"}; }, "/sources: unknown key"},
      {[](Json& j) { j.erase("language"); }, "/binary: needs a 'language'"},
      {[](Json& j) {
         j["language"] = {"opencl", "cuda"};
       },
       "/binary: needs a 'language'"},
      {[](Json& j) { j["compile_options"] = {"-DN"}; }, "/compile_options: nothing is compiled"},
      {[](Json& j) { j["definitions"] = Json::array(); }, "/definitions: nothing is compiled"},
      {[](Json& j) { j["sizes"]["compile_time"] = {"depth"}; }, "/sizes/compile_time: nothing"},
      {[](Json& j) { j["binary"] = 1; }, "/binary: must be a text"},
      {[](Json& j) { j["launches"][0]["function"] = "scale<3>"; }, "what the binary calls it"}};
  for (const auto& [change, mistake] : kMistakes) {
    Json json = Binary();
    change(json);
    EXPECT_THAT(Read(json).status().message(), HasSubstr(mistake));
  }
}

TEST_F(OwnKernelLibraryTest, AnEditedSourceIsAnotherProblem) {
  const auto path = Write("scale.json", Scale().dump());
  Write("scale.cl", "kernel void scale() {}");
  const KernelLibrary before = LoadKernelLibrary({path}, kOpenCl);
  Write("scale.cl", "kernel void scale() { }");
  const KernelLibrary after = LoadKernelLibrary({path}, kOpenCl);

  const Problem problem = *MakeOwnProblem(before.files[0], {{"n", 64}, {"width", 1}});

  EXPECT_TRUE(CheckApplies(before.files[0], problem, {}).ok());
  EXPECT_THAT(CheckApplies(after.files[0], problem, {}).message(), HasSubstr("now"));
}

TEST_F(OwnKernelLibraryTest, AnEditedHeaderIsAnotherProblemAndAnotherProgram) {
  const auto path = Write("scale.json", Scale().dump());
  Write("scale.cl", "#include \"factor.h\"\nkernel void scale() {}");
  Write("factor.h", "#define FACTOR 2\n");
  const KernelLibrary before = LoadKernelLibrary({path}, kOpenCl);
  Write("factor.h", "#define FACTOR 3\n");
  const KernelLibrary after = LoadKernelLibrary({path}, kOpenCl);

  const Problem problem = *MakeOwnProblem(before.files[0], {{"n", 64}, {"width", 1}});

  EXPECT_THAT(CheckApplies(after.files[0], problem, {}).message(), HasSubstr("now"));
  EXPECT_NE(before.files[0].source, after.files[0].source);
}

TEST_F(OwnKernelLibraryTest, KnowsAllFilesThatItIsMadeOf) {
  Write("scale.cl", "#include \"factor.h\"\nkernel void scale() {}");
  Write("factor.h", "#include \"more.h\"\n");
  Write("more.h", "");
  Json other = Scale();
  other["name"] = "plain";
  other["sources"] = Json::array({"plain.cl"});
  Write("plain.json", other.dump());
  Write("plain.cl", "kernel void scale() {}");
  Json json = Scale();
  json["reference"] = Json{{"kernel", "plain.json"}};
  json["operands"][1]["fill"] = {{"file", {{"path", "x.gz"}, {"xxh128", std::string(32, '0')}}}};
  json["attune_kernel_file"] = 4;

  const auto file = LoadOwnKernel(Write("scale.json", json.dump()));

  ASSERT_TRUE(file.ok()) << file.status().message();
  std::set<std::string> names;
  for (const auto& path : file->read_files) names.insert(path.filename());
  EXPECT_EQ(names, (std::set<std::string>{"factor.h", "more.h", "plain.cl", "plain.json",
                                          "scale.cl", "scale.json", "x.gz"}));
}

TEST_F(OwnKernelLibraryTest, AReferenceInAnotherFileHasToTakeTheSameOperands) {
  Write("scale.cl", "kernel void scale() {}");
  Json other = Scale();
  other["name"] = "plain";
  Write("plain.json", other.dump());
  Json json = Scale();
  json["reference"] = Json{{"kernel", "plain.json"}};
  const auto path = Write("scale.json", json.dump());

  const KernelLibrary library = LoadKernelLibrary({path}, kOpenCl);
  ASSERT_EQ(library.files.size(), 2u) << library.reports[0].missing;
  EXPECT_EQ(library.files[1].name, "scale.reference");
  EXPECT_EQ(library.files[1].own->content, library.files[0].own->content);

  other["operands"][0]["type"] = "f64";
  Write("plain.json", other.dump());
  const KernelLibrary broken = LoadKernelLibrary({path}, kOpenCl);
  EXPECT_TRUE(broken.files.empty());
  EXPECT_THAT(broken.reports[0].missing, HasSubstr("scale.json:1:"));
  EXPECT_THAT(broken.reports[0].missing, HasSubstr("operands differ"));
}

TEST_F(OwnKernelLibraryTest, AKernelThatIsCalledAReferenceSharesNoSolverWithTheReferenceOfAnother) {
  Write("scale.cl", "kernel void scale() {}");
  const auto path = Write("scale.json", Scale().dump());
  std::vector<std::filesystem::path> paths = {path};
  for (const char* name : {"scale-reference", "scale_reference", "reference"}) {
    Json json = Scale();
    json["name"] = name;
    json["reference"] = Json{{"program", Json::array({"/bin/true"})}};
    paths.push_back(Write(std::string(name) + ".json", json.dump()));
  }

  const KernelLibrary library = LoadKernelLibrary(paths, kOpenCl);

  std::set<std::string> names;
  for (const KernelFile& file : library.files) names.insert(file.solver_name());
  for (const auto& solver : library.solvers) names.insert(solver->id().name);
  EXPECT_EQ(names.size(), library.files.size() + library.solvers.size());
  EXPECT_EQ(names.size(), 8u);  // Four kernels, four references.
}

TEST_F(OwnKernelLibraryTest, NoKernelCanHaveTheNameOfAReference) {
  Json json = Scale();
  json["name"] = "scale.reference";

  const auto file = Read(json);

  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message(), HasSubstr("/name: 'scale.reference' holds more than"));
}

TEST_F(OwnKernelLibraryTest, OfTwoFilesOfOneNameInAFolderTheSecondIsRefusedByTheFirst) {
  Write("scale.cl", "kernel void scale() {}");
  const auto first = Write("a.json", Scale().dump());
  const auto second = Write("b.json", Scale().dump());

  // As `--kernel b.json` puts it in front of the folder that it is in.
  const KernelLibrary library = LoadKernelLibrary({second, folder_->path()}, kOpenCl);

  ASSERT_EQ(library.files.size(), 2u);  // The kernel of the first that was read, its reference.
  ASSERT_EQ(library.reports.size(), 2u);
  EXPECT_TRUE(library.reports[0].available);
  EXPECT_EQ(library.reports[0].path, second.string());
  EXPECT_FALSE(library.reports[1].available);
  EXPECT_EQ(library.reports[1].missing, fmt::format("{}: /name: 'scale' is the name of {} already.",
                                                    first.string(), second.string()));
}

TEST_F(OwnKernelLibraryTest, APathThatNoListCanHoldIsRefusedByItself) {
  const auto file = LoadOwnKernel(Write("a:b.json", Scale().dump()));

  EXPECT_THAT(file.status().message(), HasSubstr("a:b.json' has a ':', which divides"));
}

TEST_F(OwnKernelLibraryTest, AProgramIsASolverOfItsOwn) {
  Write("scale.cl", "kernel void scale() {}");
  Json json = Scale();
  json["reference"] = Json{{"program", Json::array({"/bin/true"})}};
  const KernelLibrary library = LoadKernelLibrary({Write("scale.json", json.dump())}, kOpenCl);

  ASSERT_EQ(library.files.size(), 1u);
  ASSERT_EQ(library.solvers.size(), 1u);
  EXPECT_EQ(library.solvers[0]->id().name, "opencl.scale.reference");
  EXPECT_TRUE(library.solvers[0]->traits().last_resort);
}

}  // namespace
}  // namespace attune::kernel
