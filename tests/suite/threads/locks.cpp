// Programs of C++'s locks, which locks/programs.rs runs on goroutines. Each returns 0, or the number
// of the line that found an error.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#define NEED(condition)      \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

using namespace std::chrono_literals;

namespace {

template <typename F>
void on_threads(int n, F f) {
    std::vector<std::thread> threads;
    for (int i = 0; i < n; i++)
        threads.emplace_back(f, i);
    for (auto &thread : threads)
        thread.join();
}

}  // namespace

// Producers and consumers, some of them with limits.
extern "C" int a_queue(void) {
    const int items = 2000;
    std::mutex mutex;
    std::condition_variable not_empty, not_full;
    std::deque<int> queue;
    long sum = 0;
    on_threads(8, [&](int i) {
        for (int item = 0; item < items; item++) {
            std::unique_lock<std::mutex> lock(mutex);
            if (i % 2 == 0) {
                not_full.wait(lock, [&] { return queue.size() < 3; });
                queue.push_back(item);
                not_empty.notify_one();
            } else {
                while (!not_empty.wait_for(lock, 20us, [&] { return !queue.empty(); })) {
                }
                sum += queue.front();
                queue.pop_front();
                not_full.notify_one();
            }
        }
    });
    NEED(queue.empty() && sum == 4L * items * (items - 1) / 2);
    return 0;
}

extern "C" int a_shared_mutex(void) {
    std::shared_timed_mutex mutex;
    int pair[2] = {0, 0};
    std::atomic<int> errors{0}, written{0};
    on_threads(8, [&](int i) {
        for (int round = 0; round < 500; round++) {
            if ((round + i) % 4 == 0) {
                std::unique_lock<std::shared_timed_mutex> lock(mutex, std::defer_lock);
                if (round % 3 == 0 ? lock.try_lock_for(10us) : (lock.lock(), true)) {
                    pair[0]++;
                    std::this_thread::yield();
                    pair[1]++;
                    written++;
                }
            } else {
                std::shared_lock<std::shared_timed_mutex> lock(mutex, std::defer_lock);
                if (round % 3 == 0 ? lock.try_lock_for(10us) : (lock.lock(), true))
                    errors += pair[0] != pair[1];
            }
        }
    });
    NEED(errors == 0 && pair[0] == written && pair[1] == written);
    return 0;
}

extern "C" int timed_mutexes(void) {
    std::timed_mutex timed;
    std::recursive_timed_mutex recursive;
    std::lock_guard<std::timed_mutex> held(timed);
    std::lock_guard<std::recursive_timed_mutex> once(recursive);
    std::lock_guard<std::recursive_timed_mutex> twice(recursive);
    bool got = true;
    on_threads(1, [&](int) {
        got = timed.try_lock_for(1ms) || timed.try_lock_until(std::chrono::system_clock::now() + 1ms) ||
              recursive.try_lock_for(1ms) || recursive.try_lock();
    });
    NEED(!got && recursive.try_lock_for(1ms));
    recursive.unlock();
    return 0;
}

// The first calls fail with an exception, which passes through pthread_once.
extern "C" int a_call_that_throws(void) {
    static std::once_flag flag;
    static std::atomic<int> calls{0}, thrown{0};
    on_threads(8, [&](int) {
        try {
            std::call_once(flag, [] {
                std::this_thread::yield();
                if (calls++ < 3)
                    throw std::runtime_error("expected");
            });
        } catch (const std::runtime_error &) {
            thrown++;
        }
    });
    NEED(thrown == 3 && calls == 4);
    return 0;
}
