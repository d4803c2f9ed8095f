// Block requests by device and operation, out of what the kernel side counted.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "probes/blockio/blockio.h"
#include "src/model/snapshot.h"

namespace jobscope {

class BlockTable {
 public:
  // One entry of the kernel's map: a copy for each CPU. `fallback` is the device's name if the
  // kernel side could not tell it.
  void add(const block_key& key, std::span<const block_use> copies, const std::string& fallback);
  // Charged ones first, then by device and operation.
  std::vector<BlockIo> rows() const;

 private:
  std::map<std::tuple<bool, std::string, uint32_t>, BlockIo>
      rows_;  // not charged, device, operation
};

}  // namespace jobscope
