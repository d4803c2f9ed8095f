// How the key of a map is cut into labels: what NAME.yaml leaves open is read from the key's type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/programs/config.h"

struct btf;

namespace jobscope {

// A map's key, or what a program sends through a buffer.
struct KeyType {
  const btf* types = nullptr;  // of the object; nullptr: none are known
  uint32_t id = 0;             // of the key's type in them; 0: not known
  uint32_t size = 0;           // bytes
};

// Whether it is a struct or a union, as far as its type is known.
bool is_struct(const KeyType& key);

// Gives each label its offset, and those that lack them size, padding and decoders:
//
// - No label has a size: each is the member of its name of the key's struct (of a struct within it
//   `outer_inner`), in any order, not all are needed; without any label every member is one, in
//   their order. A key that is no struct has one label, called `value` if it has no other name.
// - Else all must have one, and they lie one behind the other as in ebpf_exporter.
//
// A member is decoded by its type: unsigned integers by `uint`, signed ones by `int`, arrays of
// char as `string`, other arrays as `hex`, enums by the names of their values. Members whose name
// begins with "pad" or "_", or that have none, are no labels.
//
// `where` begins messages. What is doubtful though possible is added to `warnings`: a label that is
// called as a member and lies or ends elsewhere. Errors: no type, no such member, bit fields, and
// labels whose sizes do not make the key's.
Result<> lay_out(std::vector<LabelConfig>& labels, const KeyType& key, const std::string& where,
                 std::vector<std::string>& warnings);

}  // namespace jobscope
