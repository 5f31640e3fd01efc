#include "storage/miopen/database.h"

#include <utility>

#include "attune/base/file.h"
#include "attune/miopen/bzip2.h"
#include "attune/miopen/kernel_db.h"
#include "storage/miopen/kernel_table.h"

namespace attune::miopen {
namespace {

Status ReadText(Database& database) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string content,
                          ReadUnpacked(database.path, kLargestFileBytes));
  if (database.name.kind == DatabaseKind::kFindDb) {
    database.content = ReadFindDb(content, database.findings);
    return Status::Ok();
  }
  PerfTables tables;
  tables.targets.push_back({"", ReadPerfDb(content, database.findings)});
  database.content = std::move(tables);
  return Status::Ok();
}

Status ReadKernelList(Database& database) {
  KernelList list;
  ATTUNE_RETURN_IF_ERROR(ReadKernels(database.path, database.findings, [&](const KernelRow& row) {
    if (CheckKernel(row, database.findings)) {
      list.push_back({row.name, row.options, row.hash, static_cast<uint64_t>(row.id)});
    }
    return Status::Ok();
  }));
  database.content = std::move(list);
  return Status::Ok();
}

}  // namespace

Result<Database> ReadDatabase(const std::filesystem::path& path) {
  Database database;
  database.path = path;
  ATTUNE_ASSIGN_OR_RETURN(database.name, ParseFileName(path));
  if (database.name.storage == Storage::kText) {
    ATTUNE_RETURN_IF_ERROR(ReadText(database));
  } else if (database.name.kind == DatabaseKind::kKernelDb) {
    ATTUNE_RETURN_IF_ERROR(ReadKernelList(database));
  } else {
    ATTUNE_ASSIGN_OR_RETURN(database.content, ReadPerfTables(path, database.findings));
  }
  return database;
}

}  // namespace attune::miopen
