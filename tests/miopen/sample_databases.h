// Databases that tests make and change with plain SQL.
#pragma once

#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/formats/miopen/finding.h"

namespace attune::miopen {

// A folder of a test's own, gone with it.
class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("attune_miopen_{}", ::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~DatabaseTest() override { std::filesystem::remove_all(folder_); }

  static std::filesystem::path Sample(const std::string& name) {
    return std::filesystem::path(ATTUNE_TEST_DATA_DIR "/miopen") / name;
  }

  // A copy that may be changed.
  std::filesystem::path CopyOf(const std::string& name) const {
    std::filesystem::copy_file(Sample(name), folder_ / name,
                               std::filesystem::copy_options::overwrite_existing);
    return folder_ / name;
  }

  // The rows of the last statement, values with '|' between them.
  static std::vector<std::string> Run(const std::filesystem::path& path, const std::string& sql) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    std::vector<std::string> rows;
    const auto add = [](void* list, int count, char** values, char**) {
      std::string row;
      for (int i = 0; i < count; ++i) {
        row += fmt::format("{}{}", i == 0 ? "" : "|", values[i] == nullptr ? "NULL" : values[i]);
      }
      static_cast<std::vector<std::string>*>(list)->push_back(row);
      return 0;
    };
    // The file is worthless after a crash.
    EXPECT_EQ(sqlite3_exec(database, "PRAGMA synchronous=OFF", nullptr, nullptr, nullptr),
              SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), add, &rows, &error), SQLITE_OK)
        << sql << ": " << (error == nullptr ? "" : error);
    sqlite3_free(error);
    sqlite3_close(database);
    return rows;
  }

  const std::filesystem::path folder_;
};

// "3 bad_row" for each, in their order.
inline std::vector<std::string> PlacesOf(const Findings& findings) {
  std::vector<std::string> places;
  for (const Finding& finding : findings.kept()) {
    places.push_back(fmt::format("{} {}", finding.line, Name(finding.kind)));
  }
  return places;
}

}  // namespace attune::miopen
