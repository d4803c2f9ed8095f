#include "src/output/exposition.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "src/base/text.h"
#include "src/base/utf8.h"

namespace jobscope {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kTotal = "_total";

void append_escaped(std::string_view text, bool quotes, std::string& out) {
  while (!text.empty()) {
    const Character character = first_character(text);
    if (!character.valid)
      out += kReplacement;
    else if (text[0] == '\\')
      out += "\\\\";
    else if (text[0] == '\n')
      out += "\\n";
    else if (text[0] == '"' && quotes)
      out += "\\\"";
    else
      out += text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
  }
}

// `whole`: with a decimal point, which OpenMetrics wants in bounds of buckets.
void append_number(double value, bool whole, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char text[32];
    // Bounds of buckets are texts: they must be written as Go's libraries write them, with an
    // exponent from a million on and below a ten-thousandth.
    const double size = std::abs(value);
    const bool plain = size == 0 || (size >= 1e-4 && size < 1e6);
    const auto form = plain ? std::chars_format::fixed : std::chars_format::scientific;
    const auto end = std::to_chars(text, text + sizeof(text), value, form).ptr;
    const std::string_view number(text, static_cast<size_t>(end - text));
    out += number;
    if (whole && number.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

class Writer {
 public:
  Writer(Exposition format, std::string& out)
      : openmetrics_(format == Exposition::openmetrics), out_(out) {}

  void family(const MetricFamily& family) {
    if (family.samples.empty() && family.histograms.empty()) return;
    constexpr std::string_view kTypes[] = {"counter", "gauge", "histogram"};
    std::string_view name = family.name;
    std::string_view suffix;
    if (openmetrics_ && family.type == MetricType::counter) {
      if (name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
      suffix = kTotal;
    }
    about("# HELP ", name);
    append_escaped(family.help, openmetrics_, out_);
    out_ += '\n';
    about("# TYPE ", name);
    out_ += kTypes[static_cast<size_t>(family.type)];
    out_ += '\n';
    for (const Sample& s : family.samples) sample(name, suffix, s.labels, nullptr, s.value);
    for (const HistogramSample& h : family.histograms) histogram(name, h);
  }

 private:
  void about(std::string_view what, std::string_view name) {
    out_ += what;
    out_ += name;
    out_ += ' ';
  }

  void histogram(std::string_view name, const HistogramSample& h) {
    for (const auto& [bound, count] : h.buckets) sample(name, "_bucket", h.labels, &bound, count);
    constexpr double kAll = std::numeric_limits<double>::infinity();
    if (h.buckets.empty() || h.buckets.back().first != kAll)
      sample(name, "_bucket", h.labels, &kAll, h.count);
    sample(name, "_sum", h.labels, nullptr, h.sum);
    sample(name, "_count", h.labels, nullptr, h.count);
  }

  void sample(std::string_view name, std::string_view suffix, const Labels& labels,
              const double* bound, double value) {
    out_ += name;
    out_ += suffix;
    char before = '{';
    for (const auto& [label, text] : labels) {
      out_ += before;
      out_ += label;
      out_ += "=\"";
      append_escaped(text, true, out_);
      out_ += '"';
      before = ',';
    }
    if (bound) {
      out_ += before;
      out_ += "le=\"";
      append_number(*bound, openmetrics_, out_);
      out_ += '"';
      before = ',';
    }
    out_ += before == ',' ? "} " : " ";
    append_number(value, false, out_);
    out_ += '\n';
  }

  bool openmetrics_;
  std::string& out_;
};

}  // namespace

Exposition negotiate(std::string_view accept) {
  double text = 0, openmetrics = 0;  // weights
  while (!accept.empty()) {
    std::string_view range = take_until(accept, ',');
    const std::string_view type = take_until(range, ';');
    double weight = 1;
    bool other_version = false;
    while (!range.empty()) {
      std::string_view parameter = take_until(range, ';');
      const std::string_view name = take_until(parameter, '=');
      if (parameter.size() >= 2 && parameter.front() == '"' && parameter.back() == '"')
        parameter = parameter.substr(1, parameter.size() - 2);
      if (name == "q")
        std::from_chars(parameter.data(), parameter.data() + parameter.size(), weight);
      if (name == "version" && type == "application/openmetrics-text")
        other_version = parameter != "1.0.0" && parameter != "0.0.1";
    }
    if (type == "application/openmetrics-text" && !other_version)
      openmetrics = std::max(openmetrics, weight);
    if (type == "text/plain" || type == "text/*" || type == "*/*") text = std::max(text, weight);
  }
  return openmetrics > 0 && openmetrics >= text ? Exposition::openmetrics : Exposition::text;
}

std::string_view content_type(Exposition format) {
  return format == Exposition::text ? "text/plain; version=0.0.4; charset=utf-8"
                                    : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

void expose(std::span<const MetricFamily> families, Exposition format, std::string& out) {
  Writer writer(format, out);
  for (const MetricFamily& family : families) writer.family(family);
  if (format == Exposition::openmetrics) out += "# EOF\n";
}

}  // namespace jobscope
