// Metrics in the two formats that Prometheus scrapes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/model/metric.h"

namespace jobscope {

enum class Exposition {
  text,        // Prometheus's own, version 0.0.4
  openmetrics  // OpenMetrics 1.0.0
};

// What an Accept header asks for (RFC 9110, 12.5.1). Text, if it asks for neither or cannot be
// read.
Exposition negotiate(std::string_view accept);

// For the header Content-Type.
std::string_view content_type(Exposition format);

// Appends the families. Those without samples are left out. Bytes of labels and help that are not
// UTF-8 become U+FFFD. OpenMetrics has the suffix _total on each counter, as its rules want.
void expose(std::span<const MetricFamily> families, Exposition format, std::string& out);

}  // namespace jobscope
