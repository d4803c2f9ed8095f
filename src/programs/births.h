// Processes as they are born, for jobs whose processes live too short to be looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "src/base/result.h"

namespace jobscope {

// drain() and lost() may be called from any thread.
class Births {
 public:
  using Tell = std::function<void(uint32_t parent, uint32_t child)>;
  // From here on each fork is told, in order. An error: the kernel lacks what it takes.
  static Result<std::unique_ptr<Births>> watch(Tell tell);
  virtual ~Births() = default;

  virtual int fd() const = 0;  // readable when there are some
  virtual void drain() = 0;
  // Births that there was no room for. From any thread.
  virtual uint64_t lost() const = 0;
};

}  // namespace jobscope
