#include "probes/blockio/block_table.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace jobscope {
namespace {

constexpr std::array<const char*, BLOCK_OPERATIONS> kOperations = {"read", "write", "flush",
                                                                   "discard"};

void merge(Histogram& sum, const histogram& one) {
  Histogram h;
  std::copy(std::begin(one.slots), std::end(one.slots), h.slots.begin());
  h.max = one.max;
  h.sum = one.sum;
  sum.merge(h);
}

std::string disk_name(std::span<const block_use> copies) {
  for (const block_use& copy : copies)
    if (copy.name[0]) return {copy.name, ::strnlen(copy.name, sizeof(copy.name))};
  return {};
}

}  // namespace

void BlockTable::add(const block_key& key, std::span<const block_use> copies,
                     const std::string& fallback) {
  if (key.operation >= BLOCK_OPERATIONS) return;
  std::string device = disk_name(copies);
  if (device.empty()) device = fallback;
  BlockIo& row = rows_[{key.charged == 0, device, key.operation}];
  row.device = std::move(device);
  row.operation = kOperations[key.operation];
  row.charged = key.charged != 0;
  for (const block_use& copy : copies) {
    row.count += copy.count;
    row.bytes += copy.bytes;
    row.sequential += copy.sequential;
    merge(row.latency, copy.latency);
    merge(row.queue, copy.queue);
    merge(row.device_time, copy.device_time);
  }
}

std::vector<BlockIo> BlockTable::rows() const {
  std::vector<BlockIo> rows;
  for (const auto& [key, row] : rows_)
    if (row.count) rows.push_back(row);
  return rows;
}

}  // namespace jobscope
