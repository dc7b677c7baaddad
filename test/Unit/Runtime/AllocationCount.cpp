#include "AllocationCount.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHARDRT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHARDRT_SANITIZED 1
#endif
#endif

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> ownAllocations = 0, allAllocations = 0, releases = 0;

/// The code of a library, by address.
struct Range {
  uintptr_t begin, end;
};
Range libraries[32];
int libraryCount = 0;

int noteLibrary(dl_phdr_info *info, size_t, void *) {
  if (!std::strstr(info->dlpi_name, "libdnnl") && !std::strstr(info->dlpi_name, "libgomp"))
    return 0;
  for (int i = 0; i < info->dlpi_phnum && libraryCount < 32; ++i) {
    const auto &header = info->dlpi_phdr[i];
    if (header.p_type == PT_LOAD)
      libraries[libraryCount++] = {info->dlpi_addr + header.p_vaddr, info->dlpi_addr + header.p_vaddr + header.p_memsz};
  }
  return 0;
}

[[maybe_unused]] void note(void *caller) {
  if (!counting.load(std::memory_order_relaxed))
    return;
  ++allAllocations;
  uintptr_t address = reinterpret_cast<uintptr_t>(caller);
  for (int i = 0; i < libraryCount; ++i)
    if (address >= libraries[i].begin && address < libraries[i].end)
      return;
  ++ownAllocations;
}

} // namespace

#ifndef SHARDRT_SANITIZED
#define SHARDRT_CALLER __builtin_return_address(0)

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t size) {
  note(SHARDRT_CALLER);
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  note(SHARDRT_CALLER);
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  note(SHARDRT_CALLER);
  if (memory && counting.load(std::memory_order_relaxed))
    ++releases;
  return __libc_realloc(memory, size);
}
void *memalign(size_t alignment, size_t size) {
  note(SHARDRT_CALLER);
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  note(SHARDRT_CALLER);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  note(SHARDRT_CALLER);
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
void free(void *memory) {
  if (memory && counting.load(std::memory_order_relaxed))
    ++releases;
  __libc_free(memory);
}
}

// libstdc++'s operators call malloc, which would hide who called them.
void *operator new(size_t size) {
  note(SHARDRT_CALLER);
  if (void *memory = __libc_malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void *operator new[](size_t size) {
  note(SHARDRT_CALLER);
  if (void *memory = __libc_malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete[](void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }
void operator delete[](void *memory, size_t) noexcept { free(memory); }
#endif

namespace shardc::rt::test {

bool allocationsAreCounted() {
#ifdef SHARDRT_SANITIZED
  return false;
#else
  return true;
#endif
}

AllocationCount::AllocationCount() {
  if (libraryCount == 0)
    dl_iterate_phdr(noteLibrary, nullptr);
  ownAllocations = allAllocations = releases = 0;
  counting = true;
}

AllocationCount::~AllocationCount() { stop(); }

void AllocationCount::stop() { counting = false; }

int64_t AllocationCount::ours() const { return ownAllocations; }

int64_t AllocationCount::net() const { return allAllocations - releases; }

} // namespace shardc::rt::test
