// Kernel files with the sources, or the binary, beside them.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/file.h"
#include "attune/base/json_reader.h"
#include "attune/kernel/compiled_code.h"
#include "attune/kernel/file_place.h"
#include "attune/kernel/included_files.h"
#include "attune/kernel/json_place.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/opencl_on_cuda.h"
#include "attune/kernel/t1_file.h"
#include "attune/ops/registry.h"

namespace attune::kernel {
namespace {

constexpr size_t kMaxBinaryBytes = size_t{64} * 1024 * 1024;
// More than kernel files have: parts of it are not for the kernel, and other tuners'.
constexpr int kMaxT1Depth = 32;

Status LoadBinary(const std::filesystem::path& path, KernelFile& file) {
  Result<std::string> bytes = ReadFileAtOnce(path.parent_path() / file.source_names.front());
  if (!bytes.ok()) return bytes.error().WithContext("/binary");
  if (bytes->empty() || bytes->size() > kMaxBinaryBytes) {
    return InvalidArgument(fmt::format("/binary: '{}' has {} bytes; 1 to {} are allowed.",
                                       file.source_names.front(), bytes->size(), kMaxBinaryBytes));
  }
  file.source = *std::move(bytes);
  file.read_files.push_back(path.parent_path() / file.source_names.front());
  return Status::Ok();
}

// Appends a comment to the source that changes with its includes: then programs built before have
// another key, and problems another content hash.
Status NoteIncludedFiles(const std::filesystem::path& folder, KernelFile& file) {
  const auto included = FindIncludedFiles(file.source, folder, file.compile_options);
  if (!included.ok()) return included.error().WithContext("/sources");
  file.read_files.insert(file.read_files.end(), included->paths.begin(), included->paths.end());
  if (included->texts.empty()) return Status::Ok();
  file.source += fmt::format("// Included files: {}\n", FingerprintOf(included->texts).ToHex());
  return Status::Ok();
}

// The data files that a problem reads when it starts.
void NoteDataFiles(const std::filesystem::path& folder, KernelFile& file) {
  if (!file.own.has_value()) return;
  for (const OwnOperand& operand : file.own->operands) {
    if (operand.data.has_value()) file.read_files.push_back(folder / operand.data->path);
  }
  for (const auto& [operand, data] : file.own->reference.data) {
    file.read_files.push_back(folder / data.path);
  }
}

// Beside the kernel file, or in the folder `shared` beside the folder of its operator.
std::filesystem::path SourcePath(const std::filesystem::path& folder, const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path shared = folder.parent_path() / "shared" / name;
  const bool is_shared = FindOperator(folder.filename().string()) != nullptr &&
                         !std::filesystem::exists(folder / name, ignored) &&
                         std::filesystem::is_regular_file(shared, ignored);
  return is_shared ? shared : folder / name;
}

// Sources of `file`, and its content, which is `json` with them.
Status LoadSources(const std::filesystem::path& path, std::string_view json, KernelFile& file) {
  file.read_files = {path};
  NoteDataFiles(path.parent_path(), file);
  for (size_t i = 0; i < file.source_names.size() && !file.is_binary; ++i) {
    const std::string place = fmt::format("/sources/{}", i);
    const bool is_opencl =
        file.source_names[i].ends_with(".cl") || file.source_names[i].ends_with(".opencl");
    if (is_opencl && file.language == KernelLanguage::kCuda) file.prelude = OpenClOnCuda();
    const std::filesystem::path source_path = SourcePath(path.parent_path(), file.source_names[i]);
    Result<std::string> text = ReadFileAtOnce(source_path);
    file.read_files.push_back(source_path);
    if (!text.ok()) return text.error().WithContext(place);
    if (const Status source = RefuseCompiledCode(file.source_names[i], *text); !source.ok()) {
      return InvalidArgument(source.message()).WithContext(place);
    }
    // Drivers are given text up to the first of them.
    if (const size_t zero = text->find('\0'); zero != std::string::npos) {
      return InvalidArgument(fmt::format("{}: '{}' is no text: byte {} is zero.", place,
                                         file.source_names[i], zero + 1));
    }
    file.source += fmt::format("#line 1 \"{}\"\n{}\n", file.source_names[i], *text);
    if (file.source.size() > kMaxKernelSourceBytes) {
      return InvalidArgument(fmt::format("{}: the sources have more than {} bytes together.", place,
                                         kMaxKernelSourceBytes));
    }
  }
  ATTUNE_RETURN_IF_ERROR(file.is_binary ? LoadBinary(path, file)
                                        : NoteIncludedFiles(path.parent_path(), file));
  file.content = FingerprintOf(fmt::format("{}{}{}", json, file.prelude, file.source));
  if (file.own.has_value()) {
    file.own->content = FingerprintOf(fmt::format("{}{}", json, file.source));
  }
  return Status::Ok();
}

// Spaces cite these places in errors about constraints that leave no config or have no value.
void NoteConstraintPlaces(const std::filesystem::path& path, std::string_view json, bool is_t1,
                          KernelFile& file) {
  for (size_t i = 0; i < file.constraints.size(); ++i) {
    std::string pointer = fmt::format("/constraints/{}", i);
    if (is_t1) pointer = PlaceInT1(pointer);
    file.constraint_places.push_back(fmt::format("{}: {}", PathAt(path, json, pointer), pointer));
  }
}

struct T1Text {
  std::string_view json;
  const nlohmann::json& document;
};

Result<KernelFile> LoadT1(const std::filesystem::path& path, const T1Text& text,
                          KernelLanguage language) {
  const std::string_view json = text.json;
  const auto converted = KernelFileOfT1(text.document);
  if (!converted.ok()) return AtPointer(converted.error(), path, json);
  Result<KernelFile> file = ParseKernelFile(converted->dump(), language);
  if (!file.ok()) return AtPointerInT1(file.error(), path, json);
  const Status loaded = LoadSources(path, json, *file);
  if (!loaded.ok()) return AtPointerInT1(loaded, path, json);
  NoteConstraintPlaces(path, json, true, *file);
  return file;
}

}  // namespace

Result<KernelFile> LoadKernelFile(const std::filesystem::path& path, KernelLanguage language) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string json, ReadFileAtOnce(path));
  // A file that is too large is refused below, before it is parsed.
  nlohmann::json document;
  if (json.size() <= kMaxKernelFileBytes) {
    auto read = ReadJson(json, {kMaxT1Depth, true});
    if (!read.ok()) return read.error().WithContext(path.string());
    document = std::move(*read);
  }
  if (IsT1(document)) return LoadT1(path, {json, document}, language);
  Result<KernelFile> file = ParseKernelFile(json, language);
  const bool is_own = document.is_object() && document.contains("operator") &&
                      document["operator"] == kOwnKernelOperator;
  const auto at_place = [&](const Status& status) {
    return is_own ? AtPointer(status, path, json) : status.WithContext(path.string());
  };
  if (!file.ok()) return at_place(file.error());
  const Status loaded = LoadSources(path, json, *file);
  if (!loaded.ok()) return at_place(loaded);
  if (is_own) NoteConstraintPlaces(path, json, false, *file);
  return file;
}

}  // namespace attune::kernel
