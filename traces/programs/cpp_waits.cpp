// C++20: semaphores, a latch, a barrier, and waiting for an atomic, of a size that a futex has and of another.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>

static volatile int sink;

static void work() {
    for (int i = 0; i < 1'000'000; i++) sink = i;
}

static void semaphores() {
    using namespace std::chrono_literals;
    std::counting_semaphore<4> items(0), places(2);
    int sum = 0;
    std::thread consumer([&] {
        for (int i = 0; i < 10; i++) {
            items.acquire();
            work();
            sum += i;
            places.release();
        }
    });
    for (int i = 0; i < 10; i++) {
        places.acquire();
        work();
        items.release();
    }
    consumer.join();
    bool got = items.try_acquire_for(5ms);
    std::printf("%d %d\n", sum, got);
}

static void phases() {
    std::atomic<int> done{0};
    int completed = 0;
    std::barrier barrier(3, [&]() noexcept { completed++; });
    std::latch begin(1), end(3);
    std::vector<std::jthread> threads;
    for (int k = 0; k < 3; k++) {
        threads.emplace_back([&] {
            begin.wait();
            for (int phase = 0; phase < 4; phase++) {
                work();
                done++;
                barrier.arrive_and_wait();
            }
            end.count_down();
        });
    }
    work();
    begin.count_down();
    end.wait();
    std::printf("%d %d\n", done.load(), completed);
}

static void atomics() {
    std::atomic<int> turn{0};
    std::atomic<bool> over{false};
    std::thread other([&] {
        for (int i = 0; i < 5; i++) {
            for (int seen; (seen = turn.load()) != 2 * i + 1;) turn.wait(seen);
            work();
            turn++;
            turn.notify_one();
        }
        over.wait(false);
    });
    for (int i = 0; i < 5; i++) {
        work();
        turn++;
        turn.notify_one();
        for (int seen; (seen = turn.load()) != 2 * i + 2;) turn.wait(seen);
    }
    work();
    over = true;
    over.notify_all();
    other.join();
    std::printf("%d\n", turn.load());
}

int main() {
    semaphores();
    phases();
    atomics();
}
