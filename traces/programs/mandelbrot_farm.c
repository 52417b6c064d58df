/*
 * A farm of threads that draws the Mandelbrot set: the program that `foretrace demo` records.
 *
 * It has what most threaded programs have, so its speed-up curve bends the way theirs do:
 *
 *   - the main thread puts tiles into a bounded queue (a mutex and two condition variables);
 *   - workers take tiles and compute them; tiles differ in cost by orders of magnitude;
 *   - each result is merged into shared statistics under one lock;
 *   - at the end the main thread alone smooths and equalizes the picture.
 *
 * The output depends on the picture only, not on the number of workers or on who computed what.
 *
 * usage: mandelbrot_farm [WORKERS]      default: the number of CPUs online
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WIDTH = 1280,
    HEIGHT = 960,
    TILE = 40,
    TILES_ACROSS = WIDTH / TILE,
    TILES_DOWN = HEIGHT / TILE,
    MAX_ITERATIONS = 2800,
    BINS = MAX_ITERATIONS + 1,
    QUEUE_CAPACITY = 32,
    SMOOTHING_PASSES = 160,
    MAX_WORKERS = 256
};

/* A bounded queue of tile numbers. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    int tiles[QUEUE_CAPACITY];
    int first;
    int length;
    int closed;
} queue = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .not_empty = PTHREAD_COND_INITIALIZER,
    .not_full = PTHREAD_COND_INITIALIZER,
};

/* What all tiles together amount to. */
static struct {
    pthread_mutex_t lock;
    uint64_t histogram[BINS];
    uint64_t iterations;
    int tiles;
} totals = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint16_t picture[HEIGHT][WIDTH];
static uint16_t smoothed[HEIGHT][WIDTH];

static void queue_put(int tile)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.length == QUEUE_CAPACITY)
        pthread_cond_wait(&queue.not_full, &queue.lock);
    queue.tiles[(queue.first + queue.length) % QUEUE_CAPACITY] = tile;
    queue.length++;
    pthread_cond_signal(&queue.not_empty);
    pthread_mutex_unlock(&queue.lock);
}

/* Takes the next tile; -1 when there will be no more. */
static int queue_take(void)
{
    int tile = -1;

    pthread_mutex_lock(&queue.lock);
    while (queue.length == 0 && !queue.closed)
        pthread_cond_wait(&queue.not_empty, &queue.lock);
    if (queue.length > 0) {
        tile = queue.tiles[queue.first];
        queue.first = (queue.first + 1) % QUEUE_CAPACITY;
        queue.length--;
        pthread_cond_signal(&queue.not_full);
    }
    pthread_mutex_unlock(&queue.lock);
    return tile;
}

static void queue_close(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.closed = 1;
    pthread_cond_broadcast(&queue.not_empty);
    pthread_mutex_unlock(&queue.lock);
}

static uint16_t escape_time(double re, double im)
{
    double x = 0.0, y = 0.0;
    int n;

    for (n = 0; n < MAX_ITERATIONS; n++) {
        double xx = x * x, yy = y * y;

        if (xx + yy > 4.0)
            break;
        y = 2.0 * x * y + im;
        x = xx - yy + re;
    }
    return (uint16_t)n;
}

static void compute_tile(int tile, uint32_t histogram[BINS])
{
    int left = tile % TILES_ACROSS * TILE;
    int top = tile / TILES_ACROSS * TILE;

    memset(histogram, 0, BINS * sizeof histogram[0]);
    for (int row = top; row < top + TILE; row++) {
        for (int column = left; column < left + TILE; column++) {
            double re = -2.2 + 3.2 * column / WIDTH;
            double im = -1.2 + 2.4 * row / HEIGHT;
            uint16_t n = escape_time(re, im);

            picture[row][column] = n;
            histogram[n]++;
        }
    }
}

static void merge_tile(const uint32_t histogram[BINS])
{
    pthread_mutex_lock(&totals.lock);
    for (int n = 0; n < BINS; n++) {
        totals.histogram[n] += histogram[n];
        totals.iterations += (uint64_t)histogram[n] * (uint64_t)n;
    }
    totals.tiles++;
    pthread_mutex_unlock(&totals.lock);
}

static void *worker(void *unused)
{
    uint32_t histogram[BINS];
    int tile;

    (void)unused;
    while ((tile = queue_take()) >= 0) {
        compute_tile(tile, histogram);
        merge_tile(histogram);
    }
    return NULL;
}

/* The serial part: a box filter over the whole picture, again and again. */
static void smooth_picture(void)
{
    for (int pass = 0; pass < SMOOTHING_PASSES; pass++) {
        for (int row = 1; row < HEIGHT - 1; row++) {
            for (int column = 1; column < WIDTH - 1; column++) {
                unsigned sum = 4u * picture[row][column];

                sum += picture[row - 1][column] + picture[row + 1][column];
                sum += picture[row][column - 1] + picture[row][column + 1];
                smoothed[row][column] = (uint16_t)(sum / 8u);
            }
        }
        memcpy(&picture[1], &smoothed[1], sizeof picture - 2 * sizeof picture[0]);
    }
}

/* Spreads the grey levels evenly by the merged histogram, and returns a checksum (FNV-1a) of the result. */
static uint64_t equalize_and_sum(void)
{
    static uint8_t grey[BINS];
    uint64_t below = 0, sum = UINT64_C(14695981039346656037);

    for (int n = 0; n < BINS; n++) {
        below += totals.histogram[n];
        grey[n] = (uint8_t)(below * 255 / ((uint64_t)WIDTH * HEIGHT));
    }
    for (int row = 0; row < HEIGHT; row++) {
        for (int column = 0; column < WIDTH; column++) {
            sum ^= grey[picture[row][column]];
            sum *= UINT64_C(1099511628211);
        }
    }
    return sum;
}

static long worker_count(int argc, char **argv)
{
    char *end = NULL;
    long workers = argc > 1 ? strtol(argv[1], &end, 10) : sysconf(_SC_NPROCESSORS_ONLN);

    if ((end != NULL && (end == argv[1] || *end != '\0')) || workers < 1 || argc > 2) {
        fprintf(stderr, "usage: %s [WORKERS]\n", argv[0]);
        exit(2);
    }
    return workers < MAX_WORKERS ? workers : MAX_WORKERS;
}

int main(int argc, char **argv)
{
    long workers = worker_count(argc, argv);
    pthread_t threads[MAX_WORKERS];

    for (long i = 0; i < workers; i++) {
        int error = pthread_create(&threads[i], NULL, worker, NULL);

        if (error != 0) {
            fprintf(stderr, "mandelbrot_farm: cannot create a thread: %s\n", strerror(error));
            return 1;
        }
    }
    for (int tile = 0; tile < TILES_ACROSS * TILES_DOWN; tile++)
        queue_put(tile);
    queue_close();
    for (long i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);

    smooth_picture();
    printf("%d tiles, %llu iterations, checksum %016llx\n", totals.tiles,
           (unsigned long long)totals.iterations, (unsigned long long)equalize_and_sum());
    return 0;
}
