// Locks and conditions of the C++ library in all their forms, shared by several threads.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static std::mutex first, second;
static std::recursive_mutex again;
static std::shared_timed_mutex shared;
static std::condition_variable_any changed;
static std::once_flag once;
static int value, made;

static void member(int number) {
    std::call_once(once, [] {
        std::this_thread::sleep_for(5ms);
        made++;
    });
    for (int i = 0; i < 4; i++) {
        {
            std::scoped_lock both(first, second);
            value++;
        }
        std::lock_guard outer(again);
        std::lock_guard inner(again);
        if ((i + number) % 3 == 0) {
            std::unique_lock writing(shared);
            value++;
        } else {
            std::shared_lock reading(shared, 1s);
            std::this_thread::sleep_for(100us);
        }
    }
    std::shared_lock lock(shared);
    changed.wait(lock, [] { return value >= 100; });
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) threads.emplace_back(member, i);
    {
        std::unique_lock lock(shared);
        bool early = changed.wait_for(lock, 30ms, [] { return value >= 100; });
        std::printf("%d\n", early);
        value += 100;
    }
    changed.notify_all();
    for (auto &thread : threads) thread.join();
    std::printf("%d %d\n", made, value);
}
