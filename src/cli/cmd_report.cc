// jobscope report: makes a report again from a recording.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "src/base/caps.h"
#include "src/cli/command.h"
#include "src/model/findings.h"
#include "src/output/json_report.h"
#include "src/output/recording.h"
#include "src/output/terminal.h"
#include "src/output/text_report.h"

namespace jobscope {
namespace {

struct ReportOptions {
  std::string file;
  std::string format = "text";
};

Result<int> report(const ReportOptions& options) {
  TRY(drop_all_but({}));  // of a binary with file capabilities: open only what the caller may
  const Snapshot snapshot = TRY(read_recording(options.file));
  const std::string text = options.format == "json"
                               ? json_report(snapshot, find(snapshot))
                               : text_report(snapshot, style_for(STDOUT_FILENO));
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return fail_errno("cannot write the report");
  return 0;
}

std::function<Result<int>()> declare_report(CLI::App& app, const Invocation&) {
  auto options = std::make_shared<ReportOptions>();
  app.add_option("FILE", options->file, "a recording, made by 'jobscope run -o FILE'")->required();
  app.add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [options] { return report(*options); };
}

}  // namespace

const Command report_command{"report", "make a report again from a recording", 2, declare_report};

}  // namespace jobscope
