// Every text and every message that others keep or send, against the golden files.
#include <sys/socket.h>

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/unique_fd.h"
#include "attune/compile/kernel_cache.h"
#include "attune/formats/export.h"
#include "attune/formats/problem_list.h"
#include "attune/index/manifest.h"
#include "attune/record/spool_format.h"
#include "attune/tuner/child_protocol.h"
#include "tests/golden/golden_file.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

// Reads every line of a golden file with `parse` and writes it back with `write`.
template <class Parse, class Write>
std::string ReadAndWritten(std::string_view name, Parse parse, Write write) {
  std::string written;
  for (const std::string& line : GoldenLines(name)) {
    const auto value = parse(line);
    EXPECT_TRUE(value.ok()) << line << ": " << value.status().message();
    if (value.ok()) written += write(*value) + "\n";
  }
  return written;
}

TEST(FormatGoldenTest, ProblemTextsAreReadAndWrittenAsEver) {
  const auto write = [](const Problem& problem) { return Text(problem); };

  const std::string written = ReadAndWritten("problems_v1.txt", &ParseProblem, write);

  EXPECT_TRUE(IsGolden("problems_v1.txt", written, "problem.md"));
}

TEST(FormatGoldenTest, CandidateTextsAreReadAndWrittenAsEver) {
  const auto write = [](const Candidate& candidate) { return Text(candidate); };

  const std::string written = ReadAndWritten("candidates_v1.txt", &ParseCandidate, write);

  EXPECT_TRUE(IsGolden("candidates_v1.txt", written, "candidate.md"));
}

TEST(FormatGoldenTest, TargetTextsAreReadAndWrittenAsEver) {
  const auto write = [](const Target& target) { return Text(target); };

  const std::string written = ReadAndWritten("targets_v1.txt", &ParseTarget, write);

  EXPECT_TRUE(IsGolden("targets_v1.txt", written, "environment.md"));
}

TEST(FormatGoldenTest, EnvironmentIsReadAndWrittenAsEver) {
  const auto environment = ParseEnvironment(GoldenText("environment_v1.txt"));

  ASSERT_TRUE(environment.ok()) << environment.status().message();
  EXPECT_EQ(environment->size(), 5u);
  EXPECT_TRUE(IsGolden("environment_v1.txt", Text(*environment), "environment.md"));
}

TEST(FormatGoldenTest, ProblemSpoolIsReadAndWrittenAsEver) {
  const auto content = ParseSpool(GoldenText("problem_spool_v1.txt"));

  ASSERT_TRUE(content.ok()) << content.status().message();
  EXPECT_EQ(content->problems.size(), 3u);
  EXPECT_EQ(content->damaged_bytes, 0) << content->damage;
  std::string written = Text(content->header);
  for (const Problem& problem : content->problems) AppendProblemLine(Text(problem), written);
  for (const SpoolLoss& loss : content->losses) written += LossLine(loss);
  EXPECT_TRUE(IsGolden("problem_spool_v1.txt", written, "problem_spool.md"));
}

class ChildMessagesTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, ChildMessagesTest,
                         testing::Values("child_protocol_v1.txt", "child_protocol_v2.txt",
                                         "child_protocol_v3.txt", "child_protocol_v4.txt",
                                         "child_protocol_v5.txt", "child_protocol_v6.txt",
                                         "child_protocol_v7.txt", "child_protocol_v8.txt",
                                         "child_protocol_v9.txt", "child_protocol_v10.txt",
                                         "child_protocol_v11.txt"));

TEST_P(ChildMessagesTest, AreDecodedAndEncodedAsEver) {
  std::string written;
  for (const std::string& line : GoldenLines(GetParam())) {
    const std::string json = line.substr(2);
    if (line.starts_with("> ")) {
      const auto request = DecodeRequest(json);
      ASSERT_TRUE(request.ok()) << line << request.status().message();
      written += "> " + Encode(*request) + "\n";
    } else {
      const auto reply = DecodeReply(json);
      ASSERT_TRUE(reply.ok()) << line << reply.status().message();
      written += "< " + Encode(*reply) + "\n";
    }
  }

  EXPECT_TRUE(IsGolden(GetParam(), written, "child_protocol.md"));
}

TEST(FormatGoldenTest, ChildFramesAreSplitAndMadeAsEver) {
  std::string received = BytesOfHex(GoldenText("child_frame_v1.hex"));
  const auto payload = TakeFrame(received);
  ASSERT_TRUE(payload.ok() && payload->has_value());
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  const UniqueFd writer(sockets[0]), reader(sockets[1]);
  char sent[256];

  ASSERT_TRUE(WriteFrame(writer.get(), **payload).ok());
  const ssize_t size = ::recv(reader.get(), sent, sizeof sent, 0);

  EXPECT_TRUE(received.empty());
  ASSERT_GT(size, 0);
  EXPECT_TRUE(IsGolden("child_frame_v1.hex", HexText({sent, static_cast<size_t>(size)}),
                       "child_protocol.md"));
}

class KernelCacheGoldenTest : public ::testing::Test {
 protected:
  KernelCacheGoldenTest() {
    fs::remove_all(folder_);
    cache_ = std::move(*FolderKernelCache::Open(folder_));
  }
  ~KernelCacheGoldenTest() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(::testing::TempDir()) / "attune_kernel_cache_golden_test";
  const BuildRecipe recipe_ = {"kernel void f() {}", "-DX=1", "testcc 1.2", "test device"};
  const Artifact artifact_ = {"the code"};
  std::unique_ptr<FolderKernelCache> cache_;
};

TEST_F(KernelCacheGoldenTest, EntryIsWrittenAsEver) {
  ASSERT_TRUE(cache_->Store(recipe_, artifact_).ok());
  const fs::path entry = cache_->PathOf(recipe_);

  const std::string written =
      fmt::format("{}\n{}", entry.filename().string(), HexText(ReadFile(entry).value()));

  EXPECT_TRUE(IsGolden("kernel_cache_entry_v1.txt", written, "kernel_cache.md"));
}

TEST_F(KernelCacheGoldenTest, EntryOfTheGoldenFileIsFound) {
  const std::string golden = GoldenText("kernel_cache_entry_v1.txt");
  const size_t end_of_name = golden.find('\n');
  ASSERT_NE(end_of_name, std::string::npos);
  ASSERT_TRUE(WriteFileAtomically(folder_ / golden.substr(0, end_of_name),
                                  BytesOfHex(golden.substr(end_of_name)))
                  .ok());

  const auto found = cache_->Find(recipe_);

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, artifact_);
  EXPECT_EQ(cache_->counters().corrupt, 0);
}

TEST(FormatGoldenTest, ManifestOfAPackageIsReadAndWrittenAsEver) {
  const auto manifest = ParseManifest(GoldenText("package_manifest_v1.json"));

  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->files.size(), 3u);
  EXPECT_EQ(manifest->files.at("index").size_bytes, 3);
  EXPECT_TRUE(IsGolden("package_manifest_v1.json", ManifestText(*manifest), "package.md"));
}

TEST(FormatGoldenTest, ManifestOfAGoldenVersionIsReadAndWrittenAsEver) {
  const auto manifest = ParseManifest(GoldenText("package_manifest_golden_v1.json"));

  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->golden, (PackagedGolden{"2026-05", false}));
  EXPECT_EQ(manifest->caches, (std::vector<std::string>{"cold", "warm"}));
  EXPECT_TRUE(IsGolden("package_manifest_golden_v1.json", ManifestText(*manifest), "package.md"));
}

TEST(FormatGoldenTest, ListOfEveryFormGivesTheSameProblemsAsEver) {
  const ProblemList list = ReadProblemList(GoldenText("list_v1.txt"));
  std::string written;
  for (const ListedProblem& listed : list.problems) {
    written += fmt::format("line {} x{} {}\n", listed.line, listed.count, listed.text);
  }
  for (const RejectedLine& rejected : list.rejected) {
    written += fmt::format("line {} column {} rejected\n", rejected.line, rejected.column);
  }

  EXPECT_TRUE(IsGolden("list_v1.problems.txt", written, "lists.md"));
}

// One measured, one untuned, one that TunableOp has no line for.
std::vector<Choice> SampleChoices() {
  Choice measured;
  measured.problem = *ParseProblem("gemm@1{m=4,n=5,k=6,ta=t}");
  measured.target = {"host", "AMD EPYC 9654", "x86-64-v4", 2, {{"isa", "avx512"}}};
  measured.candidate = *ParseCandidate("host.blis-gemm@1{layout=any,threads=2}");
  measured.provenance = Provenance::kMeasured;
  measured.measurement.median_ns = 1250.5;
  measured.measurement.low_ns = 1200;
  measured.measurement.high_ns = 1300;
  measured.measurement.confidence = 0.995;
  measured.default_candidate = *ParseCandidate("host.openblas-gemm@1{}");
  measured.default_measurement.median_ns = 2501;
  measured.speedup = 2;
  measured.speedup_low = 1.9;
  measured.speedup_high = 2.1;
  measured.confidence = 0.998;
  measured.roofline_fraction = 0.25;
  measured.workspace_bytes = 4096;
  measured.set_id = "00112233445566778899aabbccddeeff";
  Choice untuned = measured;
  untuned.problem = *ParseProblem("gemm@1{m=8,n=8,k=8}");
  untuned.candidate = untuned.default_candidate;
  untuned.provenance = Provenance::kUntuned;
  untuned.measurement = untuned.default_measurement = {};
  untuned.confidence = untuned.roofline_fraction = 0;
  untuned.workspace_bytes = 0;
  untuned.set_id = "";
  Choice conv = measured;
  conv.problem = *ParseProblem("conv@1{dir=fwd,n=1,c=1,h=3,w=3,k=1,fh=1,fw=1}");
  return {measured, untuned, conv};
}

TEST(FormatGoldenTest, ExportsAreWrittenAsEver) {
  const std::vector<Choice> choices = SampleChoices();
  const TunableOpExport tunableop = ExportTunableOp(choices, {{"PT_VERSION", "2.14.0"}});

  EXPECT_TRUE(IsGolden("export_v1.json", ExportJson(choices), "lists.md"));
  EXPECT_TRUE(IsGolden("export_v1.csv", ExportCsv(choices), "lists.md"));
  EXPECT_TRUE(IsGolden("export_v1.tunableop.csv", tunableop.content, "lists.md"));
}

TEST(FormatGoldenTest, TunableOpExportOfTheGoldenFileIsReadAsAList) {
  const ProblemList list = ReadProblemList(GoldenText("export_v1.tunableop.csv"));

  EXPECT_TRUE(list.rejected.empty());
  ASSERT_EQ(list.problems.size(), 1u);
  EXPECT_EQ(list.problems[0].text, "gemm@1{m=4,n=5,k=6,ta=t}");
}

}  // namespace
}  // namespace attune
