// The C++ library's threads, locks and conditions are the C library's; an exception leaves a call_once unfinished.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>

static std::mutex mutex;
static std::timed_mutex timed;
static std::shared_mutex shared;
static std::condition_variable condition;
static std::once_flag once;
static bool ready;

int main() {
    using namespace std::chrono_literals;
    int tries = 0;
    for (int i = 0; i < 2; i++) {
        try {
            std::call_once(once, [&] {
                if (++tries == 1) throw std::runtime_error("first");
            });
        } catch (const std::runtime_error &) {
        }
    }
    std::thread thread([] {
        std::shared_lock<std::shared_mutex> reading(shared);
        std::lock_guard<std::mutex> lock(mutex);
        ready = true;
        condition.notify_one();
    });
    {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [] { return ready; });
        bool again = condition.wait_for(lock, 1ms, [] { return !ready; });
        std::printf("%d %d\n", tries, again);
    }
    thread.join();
    std::unique_lock<std::timed_mutex> lock(timed, 5ms);
    std::printf("%d\n", lock.owns_lock());
}
