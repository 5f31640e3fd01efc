// The indexes of what was imported: one for each GPU that imported databases are of, beside the
// index of the records and in the same form. docs/formats/index.md.
//
// A file of their own, so that no lookup that serves can meet an imported choice, and so that
// nobody who tunes copies a hundred thousand of them with every refresh.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/formats/miopen/imported_choice.h"
#include "attune/index/choice_index.h"
#include "attune/problem/target.h"
#include "attune/record/import_store.h"
#include "attune/trial/choice_source.h"

namespace attune {

// Where the index of what was imported of `target` into a database is. `database` is as IndexPathOf
// takes it.
std::filesystem::path ImportIndexPathOf(std::string_view database, std::string_view target);

// `name` as a Target: backend "miopen", which runs nothing, so that it never equals that of a
// device.
Target ImportTargetOf(std::string_view name);

// The revision of the newest of `files` that the index of `target` depends on; 0 if none does.
int64_t ImportRevisionOf(std::span<const ImportedFile> files, std::string_view target);

// `answer`, whose ranking is not empty, as an index has it: the quickest kMaxRanked. Its target is
// left to the caller.
IndexedChoice ChoiceOf(const miopen::ImportedAnswer& answer);

// The file that `choice` came from; empty for one that is no import.
std::string ImportedFileOf(const IndexedChoice& choice);
// The same of the perf-db that parameters of its candidates are from; empty if there are none.
std::string ParametersFileOf(const IndexedChoice& choice);

// What became of RefreshImportIndex.
struct ImportIndexRefresh {
  IndexIdentity identity;  // Of the file as it is now.
  int64_t problems = 0;
  bool unchanged = false;  // Nothing newer was imported, and the file was left alone.
};

// What RefreshImportIndex makes.
struct ImportIndexKey {
  std::string database_id;  // RecordStore::State().database_id.
  std::string target;
};

// Brings the index at `path` up to what was imported of a target: made anew from all its files,
// because newer parameters change what older lines say. It holds the problems that AskImports has a
// candidate for. Takes turns and replaces the file as RefreshIndex does, and fails as that does.
Result<ImportIndexRefresh> RefreshImportIndex(ImportStore& imports, const ImportIndexKey& key,
                                              const std::filesystem::path& path);

}  // namespace attune
