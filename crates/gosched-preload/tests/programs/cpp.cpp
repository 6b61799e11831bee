// C++: exceptions, futures, thread-locals with destructors, call_once, conditions with time limits.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> destroyed;
struct Noted {
    int value = 1;
    ~Noted() { destroyed += value; }
};
thread_local Noted noted;
static std::once_flag once;
static std::atomic<int> calls;

int main() {
    std::vector<std::future<int>> futures;
    for (int i = 0; i < 50; i++)
        futures.push_back(std::async(std::launch::async, [i] {
            noted.value = 2;
            std::call_once(once, [] {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                calls++;
            });
            if (i % 2)
                throw std::runtime_error(std::to_string(i));
            return i;
        }));
    int sum = 0, thrown = 0;
    for (auto &future : futures)
        try {
            sum += future.get();
        } catch (const std::runtime_error &error) {
            thrown += std::stoi(error.what());
        }
    futures.clear();
    std::printf("%d %d %d %d\n", sum, thrown, calls.load(), destroyed.load());

    std::mutex lock;
    std::condition_variable never;
    std::unique_lock guard(lock);
    bool late = never.wait_for(guard, std::chrono::milliseconds(20)) == std::cv_status::timeout;
    std::timed_mutex held;
    std::shared_mutex shared;
    bool taken = true;
    held.lock();
    std::thread([&] {
        taken = held.try_lock_for(std::chrono::milliseconds(20));
        std::shared_lock reader(shared);
    }).join();
    std::printf("%d %d\n", late, taken);
}
