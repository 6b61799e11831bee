// Programs of threads in C++, which c_threads.rs runs on goroutines. Each returns 0, or the number
// of the line that found an error.

#include <pthread.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#define NEED(condition)      \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

// Whether the caller is on a goroutine: set by the test.
extern "C" {
int (*is_goroutine)(void);
}

namespace {

std::atomic<int> ended;

struct Counts {
    ~Counts() { ended++; }
};

thread_local Counts local;

void *exits(void *) {
    Counts on_stack;
    (void)&local;
    pthread_exit(nullptr);
}

}  // namespace

extern "C" int an_exit_in_cpp(void) {
    pthread_t thread;
    NEED(pthread_create(&thread, nullptr, exits, nullptr) == 0);
    NEED(pthread_join(thread, nullptr) == 0);
    NEED(ended == 2);
    return 0;
}

extern "C" int threads_of_cpp(void) {
    bool is_one = false;
    std::thread::id inner;
    std::thread thread([&] {
        is_one = is_goroutine();
        inner = std::this_thread::get_id();
    });
    std::thread::id outer = thread.get_id();
    thread.join();
    NEED(is_one && inner == outer && inner != std::this_thread::get_id());
    auto fails = std::async(std::launch::async, []() -> int { throw std::runtime_error("expected"); });
    try {
        fails.get();
        return __LINE__;
    } catch (const std::runtime_error &) {
    }
    return 0;
}
