// The indexes of imports: one for each GPU with imported databases, beside the index of the records
// and in the same form. docs/formats/index.md.
//
// A separate file, so that no serving lookup can return an imported choice, and so that a tuner
// does not copy a hundred thousand of them with every refresh.
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

// The path of the index of imports for `target` into a database. `database` is as IndexPathOf takes
// it.
std::filesystem::path ImportIndexPathOf(std::string_view database, std::string_view target);

// `name` as a Target: backend "miopen", which runs nothing, so that it never equals that of a
// device.
Target ImportTargetOf(std::string_view name);

// The revision of the newest of `files` that the index of `target` depends on; 0 if there is none.
int64_t ImportRevisionOf(std::span<const ImportedFile> files, std::string_view target);

// Converts `answer`, which has a ranking, for an index: the quickest kMaxRanked. The caller sets
// its target.
IndexedChoice ChoiceOf(const miopen::ImportedAnswer& answer);

// The source file of `choice`; empty if it is no import.
std::string ImportedFileOf(const IndexedChoice& choice);
// The same for the perf-db with the parameters of its candidates; empty if there are none.
std::string ParametersFileOf(const IndexedChoice& choice);

// The result of RefreshImportIndex.
struct ImportIndexRefresh {
  IndexIdentity identity;  // Identity of the new file.
  int64_t problems = 0;
  bool unchanged = false;  // Nothing newer was imported, and the file was left alone.
};

// Identifies the index that RefreshImportIndex makes.
struct ImportIndexKey {
  std::string database_id;  // RecordStore::State().database_id.
  std::string target;
};

// Updates the index at `path` to the imports of a target: made anew from all its files, because
// newer parameters change the answers of older lines. It holds the problems that AskImports has a
// candidate for. Takes turns and replaces the file as RefreshIndex does, and fails as that does.
Result<ImportIndexRefresh> RefreshImportIndex(ImportStore& imports, const ImportIndexKey& key,
                                              const std::filesystem::path& path);

}  // namespace attune
