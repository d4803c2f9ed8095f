#include "src/programs/key_layout.h"

#include <fmt/format.h>
#include <bpf/btf.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace jobscope {
namespace {

constexpr int kDeepest = 8;          // structs within structs
constexpr size_t kMostMembers = 64;  // labels that one key may make
constexpr int kLongestChain = 32;    // of typedefs and qualifiers

// Past typedefs and qualifiers. Bounded: a hostile chain may be a ring.
const btf_type* bare(const btf* types, uint32_t id) {
  const btf_type* type = btf__type_by_id(types, id);
  for (int i = 0; type && i < kLongestChain && (btf_is_mod(type) || btf_is_typedef(type)); ++i)
    type = btf__type_by_id(types, type->type);
  return type;
}

std::string_view name_of(const btf* types, uint32_t offset) {
  const char* name = btf__name_by_offset(types, offset);
  return name ? name : "";
}

DecoderConfig simple(std::string name) {
  DecoderConfig decoder;
  decoder.name = std::move(name);
  return decoder;
}

// By the names of its values; others stay numbers.
std::vector<DecoderConfig> enum_decoders(const btf* types, const btf_type* type) {
  DecoderConfig names = simple("static_map");
  names.has_static_map = names.allow_unknown = true;
  const bool is_signed = btf_kflag(type);
  for (int i = 0; i < btf_vlen(type); ++i) {
    int64_t value = 0;
    std::string_view name;
    if (btf_is_enum(type)) {
      const struct btf_enum& one = btf_enum(type)[i];
      value = is_signed ? one.val : static_cast<int64_t>(static_cast<uint32_t>(one.val));
      name = name_of(types, one.name_off);
    } else {
      const struct btf_enum64& one = btf_enum64(type)[i];
      value = static_cast<int64_t>(uint64_t{one.val_hi32} << 32 | one.val_lo32);
      name = name_of(types, one.name_off);
    }
    // The first name of a value is its own; later ones are marks of ranges (`_MAX`).
    names.static_map.emplace(
        is_signed ? std::to_string(value) : std::to_string(static_cast<uint64_t>(value)), name);
  }
  return {simple(is_signed ? "int" : "uint"), std::move(names)};
}

bool is_text(const btf* types, uint32_t element) {
  const btf_type* type = btf__type_by_id(types, element);
  for (int i = 0; type && i < kLongestChain && btf_is_mod(type); ++i)
    type = btf__type_by_id(types, type->type);
  if (!type || !btf_is_int(type) || type->size != 1) return false;  // u8 is a typedef: bytes
  return (btf_int_encoding(type) & BTF_INT_CHAR) != 0 || name_of(types, type->name_off) == "char";
}

// Empty: a type that is no label.
std::vector<DecoderConfig> decoders_of(const btf* types, const btf_type* type) {
  if (btf_is_any_enum(type)) return enum_decoders(types, type);
  if (btf_is_int(type)) {
    if (btf_int_encoding(type) & BTF_INT_SIGNED) return {simple("int")};
    return {simple("uint")};
  }
  if (btf_is_ptr(type)) return {simple("uint")};
  if (btf_is_array(type)) return {simple(is_text(types, btf_array(type)->type) ? "string" : "hex")};
  return {};
}

// Collects the members of a struct that can be labels.
class Members {
 public:
  explicit Members(const btf* types) : types_(types) {}

  Result<> add(uint32_t id, uint32_t offset, const std::string& name, int depth = 0) {
    const btf_type* type = bare(types_, id);
    if (!type) return fail("a type is missing");
    if (btf_is_composite(type)) return add_members(type, offset, name, depth);
    const int64_t size = btf__resolve_size(types_, id);
    if (size <= 0 || size > UINT16_MAX) return fail("'" + name + "' has no size");
    LabelConfig label;
    label.name = name.empty() ? "value" : name;
    label.offset = offset;
    label.size = static_cast<uint32_t>(size);
    label.decoders = decoders_of(types_, type);
    if (label.decoders.empty()) return fail("'" + name + "' is of a type that is no label");
    if (found_.size() == kMostMembers)
      return fail(fmt::format("there are more than {} members", kMostMembers));
    found_.push_back(std::move(label));
    return {};
  }

  std::vector<LabelConfig> take() { return std::move(found_); }

 private:
  static bool is_padding(std::string_view name) {
    return name.starts_with("pad") || name.starts_with("_");
  }

  Result<> add_members(const btf_type* type, uint32_t offset, const std::string& outer, int depth) {
    if (depth == kDeepest) return fail("structs lie too deep in each other");
    const btf_member* members = btf_members(type);
    for (int i = 0; i < btf_vlen(type); ++i) {
      const std::string_view own = name_of(types_, members[i].name_off);
      const btf_type* inner = bare(types_, members[i].type);
      const bool anonymous = own.empty() && inner && btf_is_composite(inner);
      if (is_padding(own) || (own.empty() && !anonymous)) continue;
      std::string name = outer;
      if (!own.empty()) name += (outer.empty() ? "" : "_") + std::string(own);
      if (btf_member_bitfield_size(type, static_cast<uint32_t>(i)) != 0)
        return fail("'" + name + "' is a bit field", "give its bytes a member of their own");
      const uint32_t bits = btf_member_bit_offset(type, static_cast<uint32_t>(i));
      TRY(add(members[i].type, offset + bits / 8, name, depth + 1));
    }
    return {};
  }

  const btf* types_;
  std::vector<LabelConfig> found_;
};

Result<std::vector<LabelConfig>> members_of(const KeyType& key) {
  if (!key.types || key.id == 0)
    return fail("the type of the key is not known",
                "compile with -g, and declare the map with __type(key, …); or give each label its "
                "size");
  Members members(key.types);
  TRY(members.add(key.id, 0, ""));
  return members.take();
}

std::string names_of(const std::vector<LabelConfig>& members) {
  std::string names;
  for (const LabelConfig& member : members) names += (names.empty() ? "" : ", ") + member.name;
  return names;
}

Result<> by_members(std::vector<LabelConfig>& labels, const KeyType& key) {
  std::vector<LabelConfig> members = TRY(members_of(key));
  if (labels.empty()) {
    labels = std::move(members);
    return {};
  }
  for (LabelConfig& label : labels) {
    auto member = std::find_if(members.begin(), members.end(),
                               [&](const auto& m) { return m.name == label.name; });
    if (member == members.end() && members.size() == 1 && labels.size() == 1 &&
        members[0].name == "value")
      member = members.begin();  // the key is a number: call it as you like
    if (member == members.end())
      return fail(fmt::format("label '{}' has no size, and the key no such member", label.name),
                  "its members are " + names_of(members));
    label.offset = member->offset;
    label.size = member->size;
    if (label.decoders.empty() && label.job == JobKey::none)
      label.decoders = std::move(member->decoders);
  }
  return {};
}

Result<> one_behind_the_other(std::vector<LabelConfig>& labels, const KeyType& key,
                              const std::string& where, std::vector<std::string>& warnings) {
  uint32_t offset = 0;
  for (LabelConfig& label : labels) {
    if (label.decoders.empty() && label.job == JobKey::none)
      return fail(fmt::format("label '{}' has a size and no decoders", label.name));
    label.offset = offset;
    offset += label.size + label.padding;
  }
  const auto members = members_of(key);
  std::string note;  // the first label that is not where the member of its name is
  for (const LabelConfig& label : labels) {
    if (!members) break;
    for (const LabelConfig& member : *members) {
      if (member.name != label.name || (member.offset == label.offset && member.size == label.size))
        continue;
      if (note.empty())
        note = fmt::format("label '{}' is bytes {} to {} of the key, its member '{}' {} to {}",
                           label.name, label.offset, label.offset + label.size, member.name,
                           member.offset, member.offset + member.size);
    }
  }
  if (key.size && offset != key.size)
    return fail(fmt::format("the labels make {} bytes, the key has {}{}{}", offset, key.size,
                            note.empty() ? "" : ": ", note));
  if (!note.empty()) warnings.push_back(where + ": " + note);
  return {};
}

}  // namespace

bool is_struct(const KeyType& key) {
  const btf_type* type = key.types && key.id ? bare(key.types, key.id) : nullptr;
  return type && btf_is_composite(type);
}

Result<> lay_out(std::vector<LabelConfig>& labels, const KeyType& key, const std::string& where,
                 std::vector<std::string>& warnings) {
  const auto sized = static_cast<size_t>(std::count_if(
      labels.begin(), labels.end(), [](const LabelConfig& label) { return label.size != 0; }));
  Result<> done;
  if (sized == 0)
    done = by_members(labels, key);
  else if (sized == labels.size())
    done = one_behind_the_other(labels, key, where, warnings);
  else
    done = fail("some labels have a size and others do not", "give it to all or to none");
  if (!done) return tl::unexpected(done.error().context(where));
  return {};
}

}  // namespace jobscope
