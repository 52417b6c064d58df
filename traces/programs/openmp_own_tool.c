/* The program watches its regions itself, by the interface that LLVM's library has for that. */
#include <omp-tools.h>
#include <stdio.h>

static int regions;

static void began(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned size, int flags,
                  const void *from) {
    (void)task, (void)frame, (void)parallel, (void)size, (void)flags, (void)from;
    regions++;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    (void)device, (void)data;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    set(ompt_callback_parallel_begin, (ompt_callback_t)began);
    return 1;
}

static void finalize(ompt_data_t *data) { (void)data; }

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *library) {
    static ompt_start_tool_result_t tool = {initialize, finalize, {0}};
    (void)version, (void)library;
    return &tool;
}

int main(void) {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        sum += 1;
    }
    printf("%d %d\n", regions, sum);
    return 0;
}
