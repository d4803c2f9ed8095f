// Metrics as Prometheus knows them: families of samples with labels. Plain data.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace jobscope {

enum class MetricType { counter, gauge, histogram };

// In the order of exposition. Names match [a-zA-Z_][a-zA-Z0-9_]*; values are any bytes.
using Labels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
  Labels labels;
  double value = 0;
};

struct HistogramSample {
  Labels labels;
  std::vector<std::pair<double, double>> buckets;  // upper bound, ascending; count up to it
  double count = 0, sum = 0;  // a bucket for +Inf, if there is none, is written from `count`
};

struct MetricFamily {
  std::string name;  // as a person queries it: that of a counter ends in _total, or should
  std::string help;
  MetricType type = MetricType::gauge;
  std::vector<Sample> samples;
  std::vector<HistogramSample> histograms;  // of a histogram, instead of samples
};

}  // namespace jobscope
