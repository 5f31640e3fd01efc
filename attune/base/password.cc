#include "attune/base/password.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/process_variables.h"

namespace attune {

Status CheckSecretFile(const std::string& file, std::string_view what, std::string_view variable) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) {
    return FailedPrecondition(fmt::format("{} cannot be read from '{}' ({}): {}.", what, file,
                                          variable, std::strerror(errno)));
  }
  if (S_ISREG(info.st_mode) && (info.st_mode & S_IRWXO) == 0) return Status::Ok();
  return FailedPrecondition(
      fmt::format("{0} is not read from '{1}' ({2}), because {3}.", what, file, variable,
                  S_ISREG(info.st_mode) ? fmt::format("everybody can; run: chmod o-rwx '{}'", file)
                                        : "it is no regular file"));
}

Result<std::string> PasswordOf(std::string_view whose, const std::string& variable) {
  const std::string file_variable = variable + "_FILE";
  const std::string file = VariableOr(file_variable.c_str(), "");
  if (file.empty()) return VariableOr(variable.c_str(), "");
  ATTUNE_RETURN_IF_ERROR(
      CheckSecretFile(file, fmt::format("The password of {}", whose), file_variable));
  ATTUNE_ASSIGN_OR_RETURN(std::string password, ReadFile(file));
  password.resize(std::min(password.find_first_of("\r\n"), password.size()));
  if (!password.empty()) return password;
  return FailedPrecondition(
      fmt::format("The first line of '{}' ({}) is empty; it has to be the password of {}.", file,
                  file_variable, whose));
}

}  // namespace attune
