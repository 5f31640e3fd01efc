#include "storage/miopen/database.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/formats/miopen/bzip2.h"
#include "attune/formats/miopen/kernel_db.h"
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
  const bool is_of_batch_norms = database.name.kind == DatabaseKind::kBatchNormDb;
  PerfTables tables;
  tables.targets.push_back({"", is_of_batch_norms ? ReadBatchNormDb(content, database.findings)
                                                  : ReadPerfDb(content, database.findings)});
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

Status CheckNoPipe(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::file_type type = std::filesystem::status(path, ignored).type();
  using Type = std::filesystem::file_type;
  if (type != Type::fifo && type != Type::socket && type != Type::character &&
      type != Type::block) {
    return Status::Ok();
  }
  return InvalidArgument(fmt::format(
      "'{}' is a pipe or a device. A database of MIOpen's is a file, which may be read more than "
      "once: write what comes out of it to a file of that kind of name first.",
      path.string()));
}

Result<Database> ReadDatabase(const std::filesystem::path& path) {
  Database database;
  database.path = path;
  ATTUNE_ASSIGN_OR_RETURN(database.name, ParseFileName(path));
  ATTUNE_RETURN_IF_ERROR(CheckNoPipe(path));
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
