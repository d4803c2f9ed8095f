// From the bytes of a map's key to the text of a label: ebpf_exporter's decoders, chained.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/programs/config.h"

namespace jobscope {

// What decoders look up outside of the key.
class DecoderSources {
 public:
  virtual ~DecoderSources() = default;
  virtual std::string interface_name(uint32_t index) const = 0;  // "" if there is none
  virtual std::string block_device(uint32_t major, uint32_t minor) const = 0;  // "" the same
  virtual std::string kernel_symbol(uint64_t address) const = 0;               // "" the same
  virtual std::string cgroup_path(uint64_t id) const = 0;                      // "" the same
  // Of pci.ids; "" if it is not known. `level`: "vendor", "device", "class", "subclass".
  virtual std::string pci_name(std::string_view level, uint32_t id) const = 0;
};

class Decoder {
 public:
  enum class Verdict { keep, skip };  // skip: the row is not to be shown
  virtual ~Decoder() = default;
  // Replaces the bytes by what they say.
  virtual Result<Verdict> decode(std::string& bytes) const = 0;
};

// `sources` must outlive it. Errors: no such decoder, a pattern that is none.
Result<std::unique_ptr<Decoder>> make_decoder(const DecoderConfig& config,
                                              const DecoderSources& sources);

// The decoders of the labels of one metric, and how the key is cut.
class KeyDecoder {
 public:
  static Result<KeyDecoder> make(const std::vector<LabelConfig>& labels,
                                 const DecoderSources& sources);
  // Bytes of all labels with their padding.
  size_t size() const { return size_; }
  // The label values, in order; empty if the row is to be skipped. A key of another size than
  // size() is an error.
  Result<std::optional<std::vector<std::string>>> decode(std::string_view key) const;

 private:
  struct Label {
    std::string name;
    uint32_t size, padding;
    std::vector<std::unique_ptr<Decoder>> decoders;
  };
  std::vector<Label> labels_;
  size_t size_ = 0;
};

}  // namespace jobscope
