// Objects with static storage make threads and use locks before main, and go on in main. What main's
// thread has in its thread-locals stays, and main is the thread that the constructors saw.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <queue>
#include <thread>

thread_local int of_main = 1;

struct Worker {
    std::mutex lock;
    std::condition_variable changed;
    std::queue<int> work;
    bool ends = false;
    int sum = 0;
    std::thread::id main = std::this_thread::get_id();
    std::thread thread{[this] { run(); }};

    Worker() {
        of_main = 5;
        give(1);
    }
    void give(int value) {
        std::lock_guard guard(lock);
        work.push(value);
        changed.notify_one();
    }
    void run() {
        std::unique_lock guard(lock);
        for (;;) {
            changed.wait(guard, [this] { return ends || !work.empty(); });
            if (work.empty())
                return;
            sum += work.front();
            work.pop();
        }
    }
    ~Worker() {
        {
            std::lock_guard guard(lock);
            ends = true;
            changed.notify_one();
        }
        thread.join();
        std::printf("the sum is %d\n", sum);
    }
};

static Worker before_main;

int main() {
    std::printf("%d %d\n", of_main, std::this_thread::get_id() == before_main.main);
    std::thread threads[100];
    for (int i = 0; i < 100; i++)
        threads[i] = std::thread([i] { before_main.give(i); });
    for (auto &thread : threads)
        thread.join();
}
