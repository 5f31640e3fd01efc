#include "backends/cuda/layout/in_turns.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace attune::cuda {
namespace {

using testing::ElementsAre;

using List = Result<std::vector<Config>>;

const std::vector<std::string> kWays = {"padded", "last"};

Config EngineOf(int64_t engine, const std::string& way) {
  return {{"engine", engine}, {"layout", way}};
}

TEST(InTurnsTest, TheFirstOfEveryWayComesFirst) {
  const List listed = ListedInTurns("layout", kWays, [](const std::string& way) -> List {
    if (way == "last") return std::vector<Config>{{{"engine", int64_t{5}}}};
    return std::vector<Config>{{{"engine", int64_t{1}}}, {{"engine", int64_t{2}}}};
  });

  ASSERT_TRUE(listed.ok());
  EXPECT_THAT(*listed,
              ElementsAre(EngineOf(1, "padded"), EngineOf(5, "last"), EngineOf(2, "padded")));
}

TEST(InTurnsTest, AWayThatTheLibraryDoesNotTakeIsLeftOut) {
  const auto list = [](const std::string& refused) {
    return ListedInTurns("layout", kWays, [&](const std::string& way) -> List {
      if (way == refused || refused == "all") return Unsupported("not " + way);
      return std::vector<Config>{{{"engine", int64_t{1}}}};
    });
  };

  EXPECT_THAT(*list("padded"), ElementsAre(EngineOf(1, "last")));
  EXPECT_THAT(*list("last"), ElementsAre(EngineOf(1, "padded")));
  EXPECT_EQ(list("all").status(), Unsupported("not last"));
}

TEST(InTurnsTest, ALostDeviceIsNotTakenForAWayThatIsNotThere) {
  int asked = 0;
  const List listed = ListedInTurns("layout", kWays, [&](const std::string&) -> List {
    ++asked;
    return Internal("an illegal address");
  });

  EXPECT_EQ(listed.status(), Internal("an illegal address"));
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace attune::cuda
