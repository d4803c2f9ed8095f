// Names of block devices.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/result.h"

namespace jobscope {

// "vda": name of a block device by its number in the kernel's form (major << 20 | minor); "254:0"
// if it has none.
std::string block_device_name(uint32_t device);

// The number of a disk that a person calls "vda", "/dev/vda", by a link to it, or "254:0". The
// error's hint lists the disks that there are.
Result<uint32_t> find_block_device(const std::string& name, const std::string& sys = "/sys");

}  // namespace jobscope
