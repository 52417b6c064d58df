// Futures of all sorts. A thread that asks for a value before it is there waits by a futex.
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>
#include <vector>

static volatile int sink;

static void work() {
    for (int i = 0; i < 2'000'000; i++) sink = i;
}

int main() {
    using namespace std::chrono_literals;
    std::vector<std::promise<int>> promises(8);
    std::thread consumer([&] {
        int sum = 0;
        for (auto &promise : promises) {
            sum += promise.get_future().get();
            work();
        }
        std::printf("%d\n", sum);
    });
    for (int i = 0; i < 8; i++) {
        work();
        promises[i].set_value(i);
    }
    consumer.join();

    std::promise<int> go;
    std::shared_future<int> shared = go.get_future().share();
    std::vector<std::future<int>> answers;
    for (int i = 0; i < 3; i++) {
        answers.push_back(std::async(std::launch::async, [shared, i] { return shared.get() + i; }));
    }
    bool late = answers[0].wait_for(20ms) == std::future_status::timeout;
    go.set_value(10);
    int sum = 0;
    for (auto &answer : answers) sum += answer.get();

    std::packaged_task<int()> task([] { work(); return 5; });
    std::future<int> result = task.get_future();
    std::thread runner(std::move(task));
    sum += result.get();
    runner.join();
    std::printf("%d %d\n", late, sum);
}
