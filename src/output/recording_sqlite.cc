#include "src/output/recording_sqlite.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "src/base/utf8.h"

namespace jobscope {
namespace {

constexpr const char* kNoSpaceHint = "free some space, or record to another disk";

// SQLite's own words, in one line: they may quote what the file holds.
std::string message(sqlite3* database, int rc) {
  std::string text = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(rc);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, '?');
  return text;
}

// What `rc` means for a person. `database` may be null when it could not even be opened.
Error error_of(sqlite3* database, int rc, const std::string& action) {
  int system = database != nullptr ? sqlite3_system_errno(database) : 0;
  // A COMMIT that fails leaves it 0; the file still knows.
  if (database != nullptr && system == 0)
    sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &system);
  switch (rc & 0xff) {
    case SQLITE_FULL: return fail_errno(action, ENOSPC, kNoSpaceHint).value();
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      if (system == 0) break;
      return fail_errno(action, system, system == EFBIG || system == EDQUOT ? kNoSpaceHint : "")
          .value();
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {action + ": the file is damaged or cut short", "make a new recording", 0};
    case SQLITE_ERROR:  // our statements are right, so the file is not as they left it
      return {action + ": the file is damaged: " + message(database, rc), "make a new recording",
              0};
    default: break;
  }
  return {action + ": " + message(database, rc), "", 0};
}

}  // namespace

Result<> check_path_length(const std::string& path, const std::string& action) {
  std::array<char, PATH_MAX> full{};
  if (::realpath(path.c_str(), full.data()) != nullptr && std::strlen(full.data()) < 500) return {};
  return fail(action + ": the path is too long", "use one of less than 500 characters");
}

void Statement::keep(int rc) {
  ++next_;
  if (rc_ == SQLITE_OK) rc_ = rc;
}

void Statement::bind(int64_t value) { keep(sqlite3_bind_int64(get(), next_, value)); }

void Statement::bind(uint64_t value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  bind(static_cast<int64_t>(std::min(value, kMax)));
}

void Statement::bind(double value) { keep(sqlite3_bind_double(get(), next_, value)); }

void Statement::bind(std::string_view value) {
  // A null pointer would bind NULL.
  const char* data = value.data() != nullptr ? value.data() : "";
  if (valid_utf8(value) && value.find('\0') == std::string_view::npos)
    keep(sqlite3_bind_text64(get(), next_, data, value.size(), SQLITE_STATIC, SQLITE_UTF8));
  else
    keep(sqlite3_bind_blob64(get(), next_, data, value.size(), SQLITE_STATIC));
}

void Statement::bind_null() { keep(sqlite3_bind_null(get(), next_)); }

Result<> Statement::run() {
  TRY(step());
  sqlite3_reset(get());
  next_ = 1;
  return {};
}

Result<bool> Statement::step() {
  const int rc = rc_ == SQLITE_OK ? sqlite3_step(get()) : rc_;
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  Error error = error_of(sqlite3_db_handle(get()), rc, action_);
  sqlite3_reset(get());
  return tl::unexpected(std::move(error));
}

Result<Database> Database::open(const std::string& name, int flags, const char* vfs,
                                std::string action) {
  sqlite3* handle = nullptr;
  const int rc = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, vfs);
  Database database(handle, std::move(action));
  if (rc != SQLITE_OK) return tl::unexpected(error_of(handle, rc, database.action_));
  sqlite3_extended_result_codes(handle, 1);
  return database;
}

Result<> Database::run(const std::string& sql) {
  const int rc = sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (rc != SQLITE_OK) return tl::unexpected(error_of(get(), rc, action_));
  return {};
}

Result<Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int rc =
      sqlite3_prepare_v2(get(), sql.c_str(), static_cast<int>(sql.size()) + 1, &statement, nullptr);
  if (rc != SQLITE_OK) return tl::unexpected(error_of(get(), rc, action_));
  return Statement(statement, action_);
}

}  // namespace jobscope
