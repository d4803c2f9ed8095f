// Threads of our own beside the main one.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace jobscope {

// A thread that no signal of the process goes to: the main one waits for those. `name` has at most
// 15 characters.
template <class Function>
std::thread start_thread(const char* name, Function&& function) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::forward<Function>(function));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace jobscope
