#include "src/programs/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/fd.h"

namespace jobscope {

Result<std::string> read_whole(const std::string& path, size_t most) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return fail_errno("cannot read " + path);
  struct stat what {};
  if (::fstat(file.get(), &what) != 0) return fail_errno("cannot read " + path);
  if (!S_ISREG(what.st_mode)) return fail("cannot read " + path + ": it is no regular file");
  if (static_cast<size_t>(what.st_size) > most)
    return fail(fmt::format("{}: the file has {} bytes, more than {}", path, what.st_size, most));
  std::string bytes(static_cast<size_t>(what.st_size), 0);
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read " + path);
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace jobscope
