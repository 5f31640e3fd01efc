#include "attune/base/json_reader.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string ErrorOf(std::string_view text, const JsonTerms& terms = kJsonOfOthers) {
  return ReadJson(text, terms).status().message();
}

TEST(JsonReaderTest, ReadsNonFiniteNumbersOnlyWhereTheTermsTakeThem) {
  constexpr std::string_view kText = R"([NaN, -Infinity,Infinity ,{"a":NaN}])";

  const auto read = ReadJson(kText, kJsonOfOthers);

  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_TRUE(std::isnan((*read)[0].get<double>()));
  EXPECT_EQ((*read)[1], -kInfinity);
  EXPECT_EQ((*read)[2], kInfinity);
  EXPECT_TRUE(std::isnan((*read)[3]["a"].get<double>()));
  EXPECT_EQ(ErrorOf(kText, {}), "line 1, column 2: this is not JSON at '\"N\"'.");
}

TEST(JsonReaderTest, KeepsTextsThatLookLikeNonFiniteNumbers) {
  const auto read = ReadJson(
      R"({"NaN": "Infinity", "a": "x, NaN", "b\\": "[-Infinity]", "c": NaN})", kJsonOfOthers);

  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ((*read)["NaN"], "Infinity");
  EXPECT_EQ((*read)["a"], "x, NaN");
  EXPECT_EQ((*read)["b\\"], "[-Infinity]");
  EXPECT_TRUE((*read)["c"].is_number_float());
}

TEST(JsonReaderTest, RefusesOtherWordsWithTheirPlace) {
  const std::pair<std::string_view, std::string_view> faults[] = {
      {"[1,\n NaNs]", "line 2, column 2: this is not JSON at '\"N\"'."},
      {"[-NaN]", "line 1, column 2: this is not JSON at '\"-N\"'."},
      {"[+Infinity]", "line 1, column 2: this is not JSON at '\"+\"'."},
      {"[1NaN]", "line 1, column 2: this is not JSON at '\"1N\"'."},
      {"[nan]", "line 1, column 2: this is not JSON at '\"na\"'."},
      {"{NaN: 1}", "line 1, column 2: / : a number is no key."},
      {"[1] NaN", "line 1, column 5: this is not JSON at '\"NaN\"'."},
      {"{\"\u00e4\u00f6\": x}", "line 1, column 8: this is not JSON at '\"x\"'."},
      {"[\"abc\", \"d\x01\"]", "line 1, column 11: this is not JSON at '\"\\u0001\"'."},
      {{"1\0 2", 4}, "line 1, column 2: this is not JSON at '\"\\u0000\"'."},
      {"[1 \"abc\"]", "line 1, column 4: this is not JSON at '\"\\\"abc\\\"\"'."}};
  for (const auto& [text, error] : faults) EXPECT_EQ(ErrorOf(text), error) << text;
}

TEST(JsonReaderTest, RefusesEqualKeysAndDeepNestingWithTheirPlace) {
  EXPECT_EQ(ErrorOf("{\"a/b\": [{\"c\": \"c\",\n  \"c\": 2}]}"),
            "line 2, column 3: /a~1b/0/c: the key 'c' stands twice in one object.");
  EXPECT_EQ(ErrorOf("[\"[\",\n[[]]]", {2, false}),
            "line 2, column 2: /1/0: more than 2 levels of nesting.");
  EXPECT_THAT(ErrorOf(std::string(1'000'000, '[')), HasSubstr("more than 64 levels"));
}

TEST(JsonReaderTest, ATextThatEndsTooEarlyIsNoJson) {
  for (const std::string_view text :
       {"", " ", "{", "[1,", "{\"a\"", "[tru", "[-", "[Infi", "\"a"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("this is not JSON: the text ends too early")) << text;
  }
  EXPECT_THAT(ErrorOf("[\n1,"), StartsWith("line 2, column 3: "));
}

TEST(JsonReaderTest, AnOpenTextHasWhatIsThereAndWhereItEnds) {
  const auto in_value = ReadOpenJson(R"({"a": {"b": [1, {"c": "half)");
  const auto in_key = ReadOpenJson(R"({"a": {"b": 1, "ke)");
  const auto behind_key = ReadOpenJson(R"({"a": {"b": 1, "key" )");
  const auto between = ReadOpenJson(R"({"a": {"b": 1},)");
  const auto whole = ReadOpenJson(R"({"z": 1, "a": 2})");

  ASSERT_TRUE(in_value.ok() && in_key.ok() && behind_key.ok() && between.ok() && whole.ok());
  EXPECT_THAT(in_value->end->path, ElementsAre("a", "b", "1", "c"));
  EXPECT_EQ(in_value->end->quoted, "\"half");
  EXPECT_EQ(in_value->document["a"]["b"][0], 1);
  EXPECT_THAT(in_key->end->path, ElementsAre("a"));
  EXPECT_EQ(in_key->end->quoted, "\"ke");
  EXPECT_THAT(behind_key->end->path, ElementsAre("a", "key"));
  EXPECT_EQ(behind_key->end->quoted, "");
  EXPECT_THAT(between->end->path, IsEmpty());
  EXPECT_FALSE(whole->end.has_value());
  EXPECT_EQ(whole->document.dump(), R"({"z":1,"a":2})");
}

TEST(JsonReaderTest, AFaultBeforeTheEndIsAFaultOfAnOpenText) {
  EXPECT_EQ(ReadOpenJson("{\"a\": 1,\n \"b\" 2").status().message(),
            "line 2, column 6: this is not JSON at '\"2\"'.");
  EXPECT_FALSE(ReadOpenJson("[trx").ok());
}

TEST(JsonReaderTest, ALastTokenThatIsNotWholeStandsWhereItMay) {
  const std::pair<std::string_view, std::string_view> faults[] = {
      {"\n0312221.", "line 2, column 2: this is not JSON at '\"312221.\"'."},
      {"[1 234.", "line 1, column 4: this is not JSON at '\"234.\"'."},
      {"{12.", "line 1, column 2: this is not JSON at '\"12.\"'."},
      {"{\"a\": 1, fal", "line 1, column 10: this is not JSON at '\"fal\"'."},
      {"{} \"a b", "line 1, column 4: this is not JSON at '\"\\\"a b\"'."},
      {"{} Na", "line 1, column 4: this is not JSON at '\"Na\"'."},
      {"[1 -Inf", "line 1, column 4: this is not JSON at '\"-Inf\"'."}};
  for (const auto& [text, error] : faults) {
    EXPECT_EQ(ReadOpenJson(text, kJsonOfOthers).status().message(), error) << text;
    EXPECT_EQ(ErrorOf(text), error);
  }
  for (const std::string_view text :
       {"1.", "[1.", "[1, fal", "{\"a\": -", "{\"a\": 1, \"b c", "[Na"}) {
    EXPECT_TRUE(ReadOpenJson(text, kJsonOfOthers).ok()) << text;
  }
}

TEST(JsonReaderTest, PlacesOfPointersAreFound) {
  const std::string text =
      "{\n \"a\": [1,\n  {\"b\\\"/\": 2,\n   \"c\": [\"x,]\", {}]}],\n \"d\": 3}";

  EXPECT_EQ(PlaceOf(text, ""), (TextPlace{1, 1}));
  EXPECT_EQ(PlaceOf(text, "/a/0"), (TextPlace{2, 8}));
  EXPECT_EQ(PlaceOf(text, "/a/1/b\"~1"), (TextPlace{3, 12}));
  EXPECT_EQ(PlaceOf(text, "/a/1/c/1"), (TextPlace{4, 17}));
  EXPECT_EQ(PlaceOf(text, "/d"), (TextPlace{5, 7}));
  EXPECT_EQ(PlaceOf(text, "/a/1/zz"), (TextPlace{3, 3}));
  EXPECT_EQ(PlaceOf("\xEF\xBB\xBF" + text, "/d"), (TextPlace{5, 7}));
  EXPECT_EQ(PlaceOf("{\"\u00e4\": 1}", "/\u00e4"), (TextPlace{1, 7}));
}

}  // namespace
}  // namespace attune
