#include "src/programs/decoder.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "src/base/syscalls.h"

namespace jobscope {
namespace {

using Verdict = Decoder::Verdict;

// Integers of 1, 2, 4 and 8 bytes as they lie in memory.
Result<uint64_t> integer(std::string_view bytes) {
  const auto as = [&]<class T>(T value) -> uint64_t {
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  };
  switch (bytes.size()) {
    case 1: return as(uint8_t{});
    case 2: return as(uint16_t{});
    case 4: return as(uint32_t{});
    case 8: return as(uint64_t{});
    default:
      return fail(fmt::format("an integer of {} bytes: it must be 1, 2, 4 or 8", bytes.size()));
  }
}

Result<std::string> signed_text(std::string_view bytes) {
  const uint64_t value = TRY(integer(bytes));
  const auto unused_bits = static_cast<int>(64 - 8 * bytes.size());
  return std::to_string(static_cast<int64_t>(value << unused_bits) >> unused_bits);
}

// What the decoder before it wrote.
Result<uint64_t> decimal(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return fail("it needs a decimal number: put 'uint' before it");
  return value;
}

std::string or_unknown(std::string name, const std::string& what) {
  return name.empty() ? "unknown:" + what : std::move(name);
}

// A decoder that is a function of the bytes.
class FunctionDecoder : public Decoder {
 public:
  using Function = std::function<Result<std::string>(std::string_view)>;
  explicit FunctionDecoder(Function function) : function_(std::move(function)) {}
  Result<Verdict> decode(std::string& bytes) const override {
    bytes = TRY(function_(bytes));
    return Verdict::keep;
  }

 private:
  Function function_;
};

class RegexpDecoder : public Decoder {
 public:
  static Result<std::unique_ptr<Decoder>> make(const std::vector<std::string>& patterns) {
    auto decoder = std::make_unique<RegexpDecoder>();
    RE2::Options quiet;
    quiet.set_log_errors(false);
    for (const std::string& pattern : patterns) {
      auto one = std::make_unique<RE2>(pattern, quiet);
      if (!one->ok()) return fail(fmt::format("the pattern '{}': {}", pattern, one->error()));
      decoder->patterns_.push_back(std::move(one));
    }
    return decoder;
  }

  // The first pattern that matches: its group, or all that it matched. One with more groups never
  // does.
  Result<Verdict> decode(std::string& bytes) const override {
    for (const auto& pattern : patterns_) {
      const int groups = pattern->NumberOfCapturingGroups();
      re2::StringPiece found[2];
      if (groups > 1 || !pattern->Match(bytes, 0, bytes.size(), RE2::UNANCHORED, found, 2))
        continue;
      bytes = std::string(found[groups]);
      return Verdict::keep;
    }
    return Verdict::skip;
  }

 private:
  std::vector<std::unique_ptr<RE2>> patterns_;
};

Result<std::string> address_text(std::string_view bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  if (bytes.size() == 16 && bytes.starts_with(kMapped)) bytes.remove_prefix(kMapped.size());
  if (bytes.size() != 4 && bytes.size() != 16)
    return fail(fmt::format("an address of {} bytes: it must be 4 or 16", bytes.size()));
  ::inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof(text));
  return std::string(text);
}

// RFC 1035, 3.1: labels led by their lengths, each of which becomes a dot. The one of length 0 at
// the end is left away by 'string' before it. What is no such name stays as it is.
Result<std::string> domain_name(std::string_view wire) {
  std::string name(wire.empty() ? "." : wire.substr(1));
  for (size_t at = 0; at < wire.size();) {
    if (at > 0) name[at - 1] = '.';
    at += 1u + static_cast<unsigned char>(wire[at]);
    if (at > wire.size()) return std::string(wire);
  }
  return name;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

Result<std::string> kernel_stack(std::string_view bytes, const DecoderSources& sources) {
  if (bytes.size() % sizeof(uint64_t) != 0) return fail("a stack whose size is no multiple of 8");
  std::string text;
  for (; !bytes.empty(); bytes.remove_prefix(sizeof(uint64_t))) {
    const uint64_t address = TRY(integer(bytes.substr(0, sizeof(uint64_t))));
    if (address == 0) break;
    const std::string symbol = sources.kernel_symbol(address);
    if (!text.empty()) text += '\n';
    text += symbol.empty() ? "??" : symbol;
  }
  return text;
}

// include/linux/kdev_t.h, new_encode_dev()
Result<std::string> block_device(std::string_view bytes, const DecoderSources& sources) {
  if (bytes.size() != 4)
    return fail(fmt::format("a device of {} bytes: it must be 4", bytes.size()));
  const auto device = static_cast<uint32_t>(TRY(integer(bytes)));
  const uint32_t major = device >> 8 & 0xfff, minor = (device & 0xff) | (device >> 12 & 0xfff00);
  return or_unknown(sources.block_device(major, minor), fmt::format("{}:{}", major, minor));
}

std::string system_call(uint64_t number) {
  const std::string name = syscall_name(static_cast<unsigned>(std::min<uint64_t>(number, ~0u)));
  return name.starts_with("syscall ") ? fmt::format("unknown_syscall:{}", number) : name;
}

std::string error_name(uint64_t number) {
  const char* name = number < 4096 ? ::strerrorname_np(static_cast<int>(number)) : nullptr;
  return name ? name : fmt::format("unknown:{}", number);
}

// The integer of the bytes, or what 'uint' before it wrote.
Result<std::string> pci_name(std::string_view level, std::string_view bytes,
                             const DecoderSources& sources) {
  const auto written = decimal(bytes);
  const auto id = static_cast<uint32_t>(written ? *written : TRY(integer(bytes)));
  const std::string name = sources.pci_name(level, id);
  if (!name.empty()) return name;
  if (level != "subclass") return fmt::format("unknown pci {}: 0x{:02x}", level, id);
  if (sources.pci_name("class", id >> 8).empty())
    return fmt::format("unknown pci class: 0x{:02x}", id >> 8);
  return fmt::format("unknown pci subclass: 0x{:02x} (class 0x{:02x})", id & 0xff, id >> 8);
}

std::unique_ptr<Decoder> by(FunctionDecoder::Function function) {
  return std::make_unique<FunctionDecoder>(std::move(function));
}

std::unique_ptr<Decoder> static_map_decoder(const DecoderConfig& config) {
  return by([config](std::string_view bytes) -> Result<std::string> {
    if (!config.has_static_map) return std::string("empty mapping");
    const std::string key(bytes);
    const auto found = config.static_map.find(key);
    if (found != config.static_map.end()) return found->second;
    return config.allow_unknown ? key : "unknown:" + key;
  });
}

}  // namespace

Result<std::unique_ptr<Decoder>> make_decoder(const DecoderConfig& config,
                                              const DecoderSources& sources) {
  const std::string& name = config.name;
  if (name == "uint")
    return by(
        [](std::string_view b) -> Result<std::string> { return std::to_string(TRY(integer(b))); });
  if (name == "int") return by(signed_text);
  if (name == "string")
    return by([](std::string_view b) { return std::string(b.substr(0, b.find('\0'))); });
  if (name == "hex") return by([](std::string_view b) { return hex(b); });
  if (name == "static_map") return static_map_decoder(config);
  if (name == "regexp") return RegexpDecoder::make(config.regexps);
  if (name == "inet_ip") return by(address_text);
  if (name == "dname") return by(domain_name);
  if (name == "ifname")
    return by([&](std::string_view b) -> Result<std::string> {
      const uint64_t index = TRY(integer(b));
      return or_unknown(sources.interface_name(static_cast<uint32_t>(index)),
                        std::to_string(index));
    });
  if (name == "majorminor") return by([&](std::string_view b) { return block_device(b, sources); });
  if (name == "ksym")
    return by([&](std::string_view b) -> Result<std::string> {
      const uint64_t address = TRY(integer(b));
      const std::string symbol = sources.kernel_symbol(address);
      return symbol.empty() ? fmt::format("unknown_addr:0x{:x}", address) : symbol;
    });
  if (name == "kstack") return by([&](std::string_view b) { return kernel_stack(b, sources); });
  if (name == "cgroup")
    return by([&](std::string_view b) -> Result<std::string> {
      const uint64_t id = TRY(decimal(b));
      const std::string path = sources.cgroup_path(id);
      return path.empty() ? fmt::format("unknown_cgroup_id:{}", id) : path;
    });
  if (name == "errno")
    return by(
        [](std::string_view b) -> Result<std::string> { return error_name(TRY(decimal(b))); });
  if (name == "syscall")
    return by(
        [](std::string_view b) -> Result<std::string> { return system_call(TRY(decimal(b))); });
  for (const std::string_view level : {"vendor", "device", "class", "subclass"})
    if (name == "pci_" + std::string(level))
      return by([level, &sources](std::string_view b) { return pci_name(level, b, sources); });
  return fail(
      fmt::format("there is no decoder '{}'", name),
      "they are uint, int, string, hex, static_map, regexp, inet_ip, ifname, majorminor, ksym, "
      "kstack, cgroup, errno, syscall, dname, pci_vendor, pci_device, pci_class, "
      "pci_subclass");
}

Result<KeyDecoder> KeyDecoder::make(const std::vector<LabelConfig>& labels, uint32_t size,
                                    const DecoderSources& sources) {
  constexpr std::array kChanging = {"ifname", "majorminor", "cgroup"};
  KeyDecoder decoder;
  decoder.sources_ = &sources;
  decoder.size_ = size;
  for (const LabelConfig& config : labels) {
    if (config.offset + config.size > size)
      return fail(fmt::format("label '{}' ends at byte {} of a key of {}", config.name,
                              config.offset + config.size, size));
    Label label{config, {}};
    for (const DecoderConfig& one : config.decoders) {
      auto made = make_decoder(one, sources);
      if (!made) return tl::unexpected(made.error().context("label '" + config.name + "'"));
      label.decoders.push_back(std::move(*made));
      if (std::find(kChanging.begin(), kChanging.end(), one.name) != kChanging.end())
        decoder.lasting_ = false;
    }
    if (config.job != JobKey::none) {
      decoder.lasting_ = false;
      for (const char* name : {"job", "user", "role", "index", "instance"})
        decoder.names_.emplace_back(name);
    }
    if (!config.decoders.empty()) decoder.names_.push_back(config.name);
    decoder.labels_.push_back(std::move(label));
  }
  for (const std::string& name : decoder.names_)  // those of a key's type came unseen
    if (!is_label_name(name)) return fail(fmt::format("'{}' is no name of a label", name));
  std::vector<std::string> names = decoder.names_;
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return fail(fmt::format("there are two labels '{}'", *twice));
  return decoder;
}

Result<std::optional<std::vector<std::string>>> KeyDecoder::decode(std::string_view key) const {
  if (key.size() != size_)
    return fail(fmt::format("the map's key has {} bytes, the labels {}", key.size(), size_));
  std::vector<std::string> values;
  values.reserve(names_.size());
  for (const Label& label : labels_) {
    std::string bytes(key.substr(label.config.offset, label.config.size));
    if (label.config.job != JobKey::none) {
      const auto number = integer(bytes);
      if (!number)
        return tl::unexpected(number.error().context("label '" + label.config.name + "'"));
      const JobLabels job = sources_->job(label.config.job, *number).value_or(JobLabels());
      for (const std::string* value : {&job.job, &job.user, &job.role, &job.index, &job.instance})
        values.push_back(*value);
      if (label.decoders.empty()) continue;
    }
    for (const auto& decoder : label.decoders) {
      const auto verdict = decoder->decode(bytes);
      if (!verdict)
        return tl::unexpected(verdict.error().context("label '" + label.config.name + "'"));
      if (*verdict == Verdict::skip) return std::nullopt;
    }
    values.push_back(std::move(bytes));
  }
  return values;
}

}  // namespace jobscope
