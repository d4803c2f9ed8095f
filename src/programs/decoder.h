// From the bytes of a map's key to the text of a label: ebpf_exporter's decoders, chained.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/jobs/job_finder.h"
#include "src/programs/config.h"

namespace jobscope {

// What decoders look up outside of the key. For use from several threads at once.
class DecoderSources {
 public:
  virtual ~DecoderSources() = default;
  virtual std::string interface_name(uint32_t index) const = 0;  // "" if there is none
  virtual std::string block_device(uint32_t major, uint32_t minor) const = 0;  // "" the same
  virtual std::string kernel_symbol(uint64_t address) const = 0;               // "" the same
  virtual std::string cgroup_path(uint64_t id) const = 0;                      // "" the same
  // Of pci.ids; "" if it is not known. `level`: "vendor", "device", "class", "subclass".
  virtual std::string pci_name(std::string_view level, uint32_t id) const = 0;
  // Empty if it is of no job.
  virtual std::optional<JobLabels> job(JobKey kind, uint64_t number) const = 0;
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
  // `labels` are laid out (key_layout.h). `size`: bytes of the key.
  static Result<KeyDecoder> make(const std::vector<LabelConfig>& labels, uint32_t size,
                                 const DecoderSources& sources);
  uint32_t size() const { return size_; }
  // Of the values that decode() gives: those of the configuration and of jobs.
  const std::vector<std::string>& names() const { return names_; }
  // False: what the same key says may change (a disk's name, a process's job).
  bool lasting() const { return lasting_; }
  // The label values, in the order of names(); empty if the row is to be skipped. A key of another
  // size is an error.
  Result<std::optional<std::vector<std::string>>> decode(std::string_view key) const;

 private:
  struct Label {
    LabelConfig config;
    std::vector<std::unique_ptr<Decoder>> decoders;
  };
  const DecoderSources* sources_ = nullptr;
  std::vector<Label> labels_;
  std::vector<std::string> names_;
  uint32_t size_ = 0;
  bool lasting_ = true;
};

}  // namespace jobscope
