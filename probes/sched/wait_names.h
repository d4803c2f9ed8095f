// What a thread waited for, in words.
#pragma once

#include <string>

#include "src/session/knowledge.h"

namespace jobscope {

// "/data/train.bin", "10.0.0.7:9000", "libgomp.so.1", "server (pid 12)", "semtimedop"; "" if the
// reason says it all or nothing more is known.
std::string wait_target(const wait_key& key, const Knowledge& knowledge);

}  // namespace jobscope
