// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the load generator measures with: a clock, the time that a process ran and waited for its processor,
// and a histogram of latencies.
#pragma once
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static inline uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// Nanoseconds on a processor, and runnable without one, of all threads of a process.
struct schedule {
  uint64_t ran, waited;
};

static inline struct schedule schedule_of(long process) {
  struct schedule total = {0, 0};
  char path[300];
  snprintf(path, sizeof path, "/proc/%ld/task", process);
  DIR *threads = opendir(path);
  for (struct dirent *entry; threads && (entry = readdir(threads));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%ld/task/%s/schedstat", process, entry->d_name);
    FILE *file = fopen(path, "r");
    unsigned long long ran, waited;
    if (file && fscanf(file, "%llu %llu", &ran, &waited) == 2) {
      total.ran += ran;
      total.waited += waited;
    }
    if (file) fclose(file);
  }
  if (threads) closedir(threads);
  return total;
}

// 64 steps for each power of two: an error of less than 1.6 %.
enum { STEPS = 64 };

struct histogram {
  uint64_t counts[STEPS * STEPS], total;
};

static inline void record(struct histogram *histogram, uint64_t value) {
  unsigned index = (unsigned)value;
  if (value >= STEPS) {
    unsigned power = 63u - (unsigned)__builtin_clzll(value);
    index = (power - 5) * STEPS + (unsigned)((value >> (power - 6)) & (STEPS - 1));
  }
  histogram->counts[index]++;
  histogram->total++;
}

// The value that `share` of the recorded ones do not exceed.
static inline double quantile(const struct histogram *histogram, double share) {
  uint64_t wanted = (uint64_t)(share * (double)histogram->total + 0.999999), seen = 0;
  if (wanted < 1) wanted = 1;
  for (unsigned index = 0; index < STEPS * STEPS; index++) {
    seen += histogram->counts[index];
    if (seen < wanted) continue;
    if (index < STEPS) return index;
    unsigned power = index / STEPS + 5;
    double width = (double)(1ull << (power - 6));
    return (double)(1ull << power) + index % STEPS * width + width / 2;
  }
  return 0;
}
