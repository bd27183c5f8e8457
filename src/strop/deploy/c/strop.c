/* See strop.h. The tables are those of strop/deploy/model_file.py; every number is checked before it is used. */
#define _GNU_SOURCE
#include "strop.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#else
#error "model files run on x86-64 and AArch64"
#endif

enum { VERSION = 1, PAGE = 65536, MOST_ROWS = 1 << 22, MOST_THREADS = 1024, ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };
#define MOST_BYTES ((uint64_t)1 << 47)
static const char MAGIC[8] = {'\x8b', 'S', 'T', 'R', 'P', 'M', '\r', '\n'};

typedef struct {
    char magic[8];
    uint32_t version, inputs, outputs, variants, programs, weights, numbers, names;
    uint64_t table_bytes, file_bytes, about, about_bytes;
    uint32_t crc, zero;
} header_row;
typedef struct { uint32_t name, dtype, rank, zero; int64_t shape[8]; } tensor_row;
typedef struct { uint32_t name, machine, threads, features, first_feature, programs, first_program, zero; } variant_row;
typedef struct {
    uint64_t image, image_bytes, table, entry, worker, end_workers, arena_bytes, scratch_bytes;
    uint32_t slots, first_slot, first_weight, weights, first_external, externals, image_crc, zero;
} program_row;
typedef struct { uint64_t offset, bytes; uint32_t slot, crc; } weight_row;

_Static_assert(sizeof(header_row) == 80 && sizeof(tensor_row) == 80 && sizeof(variant_row) == 32, "tables");
_Static_assert(sizeof(program_row) == 96 && sizeof(weight_row) == 24, "tables");

/* slots of the table that an entry receives, and words of the blocks of memory that threads meet at: see
 * strop/core/runtime_table.py */
enum { STATUS, POOL, UNUSED_2, UNUSED_3, SCRATCH, THREADS, SCRATCH_STRIDE, YIELD, CREW, TABLE };
enum { OUT_OF_RANGE = 0, NOT_FINITE = 1 };
enum { POOL_WORKERS = 25, POOL_SYSCALL = 26, POOL_WORDS = 32 };
enum { TEAM_WORDS = 40, TEAM_WORDS_PER_THREAD = 8 };

typedef void (*entry_function)(void *, void *, void *);
typedef void *(*worker_function)(void *);
typedef void (*end_function)(void *);

/* functions that code may call, by their numbers in a file: see strop/deploy/link.py */
#define F(name) (void (*)(void))name
static void (*const externals[])(void) = {
    F(memcpy), F(memmove), F(memset), F(floorf), F(floor), F(ceilf), F(ceil), F(truncf), F(trunc), F(rintf), F(rint),
    F(nearbyintf), F(nearbyint), F(roundf), F(round), F(roundevenf), F(roundeven), F(fmodf), F(fmod), F(sinf), F(sin),
    F(cosf), F(cos), F(tanf), F(tan), F(powf), F(pow), F(expf), F(exp), F(logf), F(log),
    F(sincosf), F(sincos),
};
enum { EXTERNALS = sizeof externals / sizeof *externals };

typedef struct frame {
    struct frame *next;
    uint64_t table[TABLE];
    int64_t status;
    uint64_t *slots;
    void *arena, *scratch, *crew;
    size_t arena_bytes, scratch_bytes, crew_bytes;
} frame;

typedef struct {
    const program_row *row;
    void *image; /* mapped memory, where the code is not linked into the program */
    size_t image_bytes;
    entry_function entry;
    worker_function worker;
    end_function end_workers;
    frame *frames; /* that no call uses */
    uint64_t *pool;
    pthread_t *workers;
    uint32_t started;
} program;

struct strop_model {
    const unsigned char *data;
    size_t bytes;
    int mapped; /* by us */
    header_row header;
    strop_tensor *tensors;
    const variant_row *variant;
    const char *names;
    const uint32_t *numbers;
    const weight_row *weights;
    program programs[2];
    pthread_mutex_t lock;
    strop_model *next; /* of all that are open */
};

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static strop_model *open_models;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static __thread strop_reason last_reason;

strop_reason strop_why(void) { return last_reason; }

typedef struct { char *text; size_t bytes; } report;

static int refuse(report r, strop_reason reason, const char *form, ...) {
    va_list given;
    last_reason = reason;
    va_start(given, form);
    if (r.text && r.bytes) vsnprintf(r.text, r.bytes, form, given);
    va_end(given);
    return 0;
}

/* ---- features of this CPU ------------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
enum { MACHINE = 0 };
static const char *const machine_name = "x86_64";
typedef struct { const char *name; int leaf, subleaf, reg, bit; } feature; /* registers: a 0, b 1, c 2, d 3 */
static const feature features[] = {
    {"sse2", 1, 0, 3, 26}, {"sse3", 1, 0, 2, 0}, {"ssse3", 1, 0, 2, 9}, {"sse4.1", 1, 0, 2, 19},
    {"sse4.2", 1, 0, 2, 20}, {"popcnt", 1, 0, 2, 23}, {"movbe", 1, 0, 2, 22}, {"avx", 1, 0, 2, 28},
    {"fma", 1, 0, 2, 12}, {"f16c", 1, 0, 2, 29}, {"avx2", 7, 0, 1, 5}, {"bmi", 7, 0, 1, 3}, {"bmi2", 7, 0, 1, 8},
    {"avx512f", 7, 0, 1, 16}, {"avx512dq", 7, 0, 1, 17}, {"avx512ifma", 7, 0, 1, 21}, {"avx512cd", 7, 0, 1, 28},
    {"avx512bw", 7, 0, 1, 30}, {"avx512vl", 7, 0, 1, 31}, {"avx512vbmi", 7, 0, 2, 1}, {"avx512vbmi2", 7, 0, 2, 6},
    {"gfni", 7, 0, 2, 8}, {"avx512vnni", 7, 0, 2, 11}, {"avx512bitalg", 7, 0, 2, 12},
    {"avx512vpopcntdq", 7, 0, 2, 14}, {"avxvnni", 7, 1, 0, 4}, {"avx512bf16", 7, 1, 0, 5},
    {"lzcnt", (int)0x80000001, 0, 2, 5},
};

static int has_feature(const char *name) {
    unsigned r[4];
    uint32_t low, high, needs = 0;
    size_t i;
    for (i = 0; i < sizeof features / sizeof *features; i++) {
        const feature *f = &features[i];
        if (strcmp(f->name, name)) continue;
        if (!__get_cpuid_count((unsigned)f->leaf, (unsigned)f->subleaf, &r[0], &r[1], &r[2], &r[3])) return 0;
        if (!(r[f->reg] >> f->bit & 1)) return 0;
        if (!strncmp(name, "avx", 3) || !strcmp(name, "fma") || !strcmp(name, "f16c")) needs = 0x6;
        if (!strncmp(name, "avx512", 6)) needs = 0xe6;
        if (!needs) return 1;
        /* the kernel saves these registers */
        if (!__get_cpuid(1, &r[0], &r[1], &r[2], &r[3]) || !(r[2] >> 27 & 1)) return 0;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        return (low & needs) == needs;
    }
    return 0;
}
#else
enum { MACHINE = 1 };
static const char *const machine_name = "aarch64";
typedef struct { const char *name; int second, bit; } feature;
static const feature features[] = {
    {"neon", 0, 1}, {"lse", 0, 8}, {"fullfp16", 0, 10}, {"rdm", 0, 12}, {"complxnum", 0, 14}, {"rcpc", 0, 15},
    {"dotprod", 0, 20}, {"sve", 0, 22}, {"rcpc-immo", 0, 26}, {"sve2", 1, 1}, {"i8mm", 1, 13}, {"bf16", 1, 14},
};

static int has_feature(const char *name) {
    size_t i;
    for (i = 0; i < sizeof features / sizeof *features; i++)
        if (!strcmp(features[i].name, name))
            return getauxval(features[i].second ? AT_HWCAP2 : AT_HWCAP) >> features[i].bit & 1;
    return 0;
}
#endif

/* ---- reading the tables -------------------------------------------------------------------------------------------- */

static uint32_t crc32_of(uint32_t crc, const unsigned char *data, size_t bytes) {
    static uint32_t table[256];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    size_t i;
    int bit;
    pthread_mutex_lock(&lock);
    for (i = 0; !table[255] && i < 256; i++) {
        uint32_t value = (uint32_t)i;
        for (bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
        table[i] = value;
    }
    pthread_mutex_unlock(&lock);
    crc = ~crc;
    for (i = 0; i < bytes; i++) crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
    return ~crc;
}

static const uint64_t dtype_bytes[] = {4, 8, 4, 8, 1, 1, 1};

static int within(uint64_t offset, uint64_t bytes, uint64_t whole) { return offset <= whole && bytes <= whole - offset; }

static int read_tensors(strop_model *m, const tensor_row *rows, report r) {
    uint32_t i, k, count = m->header.inputs + m->header.outputs;
    m->tensors = calloc(count ? count : 1, sizeof *m->tensors);
    if (!m->tensors) return refuse(r, STROP_CANNOT_READ, "no memory for the tables of the model file");
    for (i = 0; i < count; i++) {
        strop_tensor *t = &m->tensors[i];
        uint64_t bytes;
        if (rows[i].name >= m->header.names || rows[i].dtype > STROP_I8 || rows[i].rank > 8 || rows[i].zero)
            return refuse(r, STROP_NOT_A_MODEL, "not a model file: tensor %u has no known type", i);
        t->name = m->names + rows[i].name;
        t->dtype = (strop_dtype)rows[i].dtype;
        t->rank = rows[i].rank;
        bytes = dtype_bytes[t->dtype];
        t->bytes = bytes;
        for (k = 0; k < 8; k++) {
            int64_t extent = rows[i].shape[k];
            if (extent < 0 || (k >= t->rank && extent))
                return refuse(r, STROP_NOT_A_MODEL, "not a model file: tensor %u has a shape that none has", i);
            if (k >= t->rank) continue;
            if ((uint64_t)extent > MOST_BYTES / bytes)
                return refuse(r, STROP_NOT_A_MODEL, "not a model file: tensor %u is larger than any memory", i);
            bytes *= extent ? (uint64_t)extent : 1;
            t->bytes *= (uint64_t)extent;
            t->shape[k] = extent;
        }
    }
    return 1;
}

static int check_program(const strop_model *m, const variant_row *v, const program_row *p, report r) {
    const header_row *h = &m->header;
    uint32_t i, places = h->inputs + h->outputs;
    unsigned char *used;
    int fine = 1;
    if (p->image % PAGE || !p->image_bytes || !within(p->image, p->image_bytes, h->file_bytes))
        return refuse(r, STROP_NOT_A_MODEL, "not a model file: code lies outside of the file");
    if (p->table % PAGE || p->table < p->image_bytes || p->table - p->image_bytes >= PAGE || p->externals > EXTERNALS)
        return refuse(r, STROP_NOT_A_MODEL, "not a model file: the table of external functions is at no possible place");
    if (p->entry >= p->image_bytes || p->worker >= p->image_bytes || p->end_workers >= p->image_bytes)
        return refuse(r, STROP_NOT_A_MODEL, "not a model file: a function lies outside of its code");
    if (p->arena_bytes > MOST_BYTES || p->scratch_bytes > MOST_BYTES / v->threads || !p->slots || p->slots > MOST_ROWS ||
        p->zero)
        return refuse(r, STROP_NOT_A_MODEL, "not a model file: a program needs more memory than any machine has");
    if (!within(p->first_slot, places, h->numbers) || !within(p->first_external, p->externals, h->numbers) ||
        !within(p->first_weight, p->weights, h->weights))
        return refuse(r, STROP_NOT_A_MODEL, "not a model file: a list lies outside of its table");
    for (i = 0; i < p->externals; i++)
        if (m->numbers[p->first_external + i] >= EXTERNALS)
            return refuse(r, STROP_NOT_A_MODEL, "not a model file: a program calls an unknown function");
    used = calloc(p->slots, 1);
    if (!used) return refuse(r, STROP_CANNOT_READ, "no memory for the tables of the model file");
    for (i = 0; fine && i < places + p->weights; i++) {
        const weight_row *w = i < places ? NULL : &m->weights[p->first_weight + i - places];
        uint32_t slot = w ? w->slot : m->numbers[p->first_slot + i];
        if (slot >= p->slots || used[slot]++)
            fine = refuse(r, STROP_NOT_A_MODEL, "not a model file: a slot is used twice, or does not exist");
        else if (w && (w->offset % ALIGNMENT || !within(w->offset, w->bytes, h->file_bytes)))
            fine = refuse(r, STROP_NOT_A_MODEL, "not a model file: a weight lies outside of the file");
    }
    free(used);
    return fine;
}

/* The variant that uses most of what this CPU has; of equals the first. */
static int choose(strop_model *m, const variant_row *variants, const program_row *programs, report r) {
    char lacking[160] = "";
    uint32_t i, k;
    for (i = 0; i < m->header.variants; i++) {
        const variant_row *v = &variants[i];
        int fits = v->machine == MACHINE;
        if (v->name >= m->header.names || v->machine > 1 || !v->threads || v->threads > MOST_THREADS || v->zero ||
            v->programs < 1 || v->programs > 2 || !within(v->first_program, v->programs, m->header.programs) ||
            !within(v->first_feature, v->features, m->header.numbers))
            return refuse(r, STROP_NOT_A_MODEL, "not a model file: a variant makes no sense");
        for (k = 0; k < v->programs; k++)
            if (!check_program(m, v, &programs[v->first_program + k], r)) return 0;
        for (k = 0; k < v->features; k++) {
            uint32_t name = m->numbers[v->first_feature + k];
            if (name >= m->header.names) return refuse(r, STROP_NOT_A_MODEL, "not a model file: a feature has no name");
            if (v->machine == MACHINE && !has_feature(m->names + name)) {
                if (fits)
                    snprintf(lacking, sizeof lacking, "code for %.40s needs %.40s, which this CPU lacks",
                             m->names + v->name, m->names + name);
                fits = 0;
            }
        }
        if (fits && (!m->variant || v->features > m->variant->features)) m->variant = v;
    }
    if (!m->variant && *lacking) return refuse(r, STROP_CANNOT_RUN_HERE, "this machine cannot run the model: %s", lacking);
    if (!m->variant)
        return refuse(r, STROP_CANNOT_RUN_HERE, "this machine cannot run the model: it holds no code for %s", machine_name);
    return 1;
}

static int read_tables(strop_model *m, report r) {
    header_row *h = &m->header, blank;
    const unsigned char *at = m->data + sizeof *h;
    const tensor_row *tensors;
    const variant_row *variants;
    const program_row *programs;
    uint64_t size;
    if (m->bytes < sizeof *h) return refuse(r, STROP_NOT_A_MODEL, "not a model file: it is too short");
    memcpy(h, m->data, sizeof *h);
    if (memcmp(h->magic, MAGIC, sizeof MAGIC)) return refuse(r, STROP_NOT_A_MODEL, "not a model file");
    if (h->version != VERSION)
        return refuse(r, STROP_NOT_A_MODEL, "the model file has version %u of the format, this is version %d", h->version,
                      VERSION);
    if (h->file_bytes != m->bytes) return refuse(r, STROP_NOT_A_MODEL, "not a model file: it was cut short, or grew");
    if (h->inputs > MOST_ROWS || h->outputs > MOST_ROWS || h->variants > MOST_ROWS || h->programs > MOST_ROWS ||
        h->weights > MOST_ROWS || h->numbers > MOST_ROWS || h->zero || !h->variants)
        return refuse(r, STROP_NOT_A_MODEL, "not a model file: its header makes no sense");
    size = sizeof *h + ((uint64_t)h->inputs + h->outputs) * sizeof(tensor_row) + h->variants * sizeof(variant_row) +
           h->programs * sizeof(program_row) + h->weights * sizeof(weight_row) + h->numbers * 4 + h->names;
    if (h->table_bytes != size || size > m->bytes || !within(h->about, h->about_bytes, m->bytes))
        return refuse(r, STROP_NOT_A_MODEL, "not a model file: its tables do not have the size that its header says");
    blank = *h;
    blank.crc = 0;
    if (crc32_of(crc32_of(0, (const unsigned char *)&blank, sizeof blank), at, size - sizeof *h) != h->crc)
        return refuse(r, STROP_NOT_A_MODEL, "the model file is damaged (checksum of its tables)");
    tensors = (const tensor_row *)at;
    variants = (const variant_row *)(tensors + h->inputs + h->outputs);
    programs = (const program_row *)(variants + h->variants);
    m->weights = (const weight_row *)(programs + h->programs);
    m->numbers = (const uint32_t *)(m->weights + h->weights);
    m->names = (const char *)(m->numbers + h->numbers);
    if (!h->names || m->names[h->names - 1]) return refuse(r, STROP_NOT_A_MODEL, "not a model file: a name has no end");
    if (!read_tensors(m, tensors, r) || !choose(m, variants, programs, r)) return 0;
    m->programs[0].row = &programs[m->variant->first_program];
    m->programs[1].row = m->variant->programs > 1 ? m->programs[0].row + 1 : NULL;
    return 1;
}

/* ---- code, memory and threads -------------------------------------------------------------------------------------- */

static size_t up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

/* Code, from the file or from memory, and behind it the table of external functions. */
static int map_code(const strop_model *m, program *p, int file, report r) {
    const program_row *row = p->row;
    size_t behind = up(8 * (size_t)(row->externals ? row->externals : 1), PAGE), i;
    unsigned char *base;
    uint64_t *table;
    void *code;
    if (crc32_of(0, m->data + row->image, row->image_bytes) != row->image_crc)
        return refuse(r, STROP_NOT_A_MODEL, "the model file is damaged (checksum of its code)");
    p->image_bytes = row->table + behind;
    base = mmap(NULL, p->image_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return refuse(r, STROP_CANNOT_READ, "no memory for the code of the model file");
    p->image = base;
    if (file >= 0) {
        code = mmap(base, row->image_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, (off_t)row->image);
        if (code == MAP_FAILED)
            return refuse(r, STROP_CANNOT_READ, "the code cannot be mapped: is the file system mounted noexec?");
    } else {
        memcpy(base, m->data + row->image, row->image_bytes);
        if (mprotect(base, row->table, PROT_READ | PROT_EXEC))
            return refuse(r, STROP_CANNOT_READ, "memory cannot be made executable: link the code, see strop_open_linked");
    }
    table = (uint64_t *)(base + row->table);
    for (i = 0; i < row->externals; i++) table[i] = (uint64_t)(uintptr_t)externals[m->numbers[row->first_external + i]];
    mprotect(table, behind, PROT_READ);
    __builtin___clear_cache((char *)base, (char *)base + row->image_bytes);
    p->entry = (entry_function)(uintptr_t)(base + row->entry);
    if (row->worker) {
        p->worker = (worker_function)(uintptr_t)(base + row->worker);
        p->end_workers = (end_function)(uintptr_t)(base + row->end_workers);
    }
    return 1;
}

/* Zeroed memory; large blocks in huge pages, where the system has them to give. */
static void *block(size_t *bytes) {
    void *found;
    *bytes = up(*bytes ? *bytes : 1, *bytes >= HUGE_PAGE ? HUGE_PAGE : 4096);
    if (posix_memalign(&found, *bytes >= HUGE_PAGE ? HUGE_PAGE : 4096, *bytes)) return NULL;
#ifdef MADV_HUGEPAGE
    if (*bytes >= HUGE_PAGE) madvise(found, *bytes, MADV_HUGEPAGE);
#endif
    return memset(found, 0, *bytes);
}

static void free_frame(frame *f) {
    if (!f) return;
    free(f->slots);
    free(f->arena);
    free(f->scratch);
    free(f->crew);
    free(f);
}

static frame *new_frame(const strop_model *m, const program *p) {
    const program_row *row = p->row;
    uint32_t i, threads = m->variant->threads;
    frame *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->arena_bytes = row->arena_bytes;
    f->scratch_bytes = row->scratch_bytes * threads;
    f->crew_bytes = 8 * (TEAM_WORDS + TEAM_WORDS_PER_THREAD * (size_t)threads);
    f->slots = calloc(row->slots, sizeof *f->slots);
    f->arena = block(&f->arena_bytes);
    f->scratch = block(&f->scratch_bytes);
    f->crew = block(&f->crew_bytes);
    if (!f->slots || !f->arena || !f->scratch || !f->crew) {
        free_frame(f);
        return NULL;
    }
    for (i = 0; i < row->weights; i++) {
        const weight_row *w = &m->weights[row->first_weight + i];
        f->slots[w->slot] = (uint64_t)(uintptr_t)(m->data + w->offset);
    }
    f->table[STATUS] = (uint64_t)(uintptr_t)&f->status;
    f->table[POOL] = (uint64_t)(uintptr_t)p->pool;
    f->table[SCRATCH] = (uint64_t)(uintptr_t)f->scratch;
    f->table[THREADS] = threads;
    f->table[SCRATCH_STRIDE] = row->scratch_bytes;
    f->table[YIELD] = (uint64_t)(uintptr_t)(void (*)(void))sched_yield;
    f->table[CREW] = (uint64_t)(uintptr_t)f->crew;
    return f;
}

/* The program's threads, at its first call; fewer where the machine gives no more. */
static int start_workers(const strop_model *m, program *p) {
    uint32_t wanted = m->variant->threads - 1;
    size_t bytes = 8 * POOL_WORDS;
    if (!p->worker || p->pool) return 1;
    p->pool = block(&bytes);
    p->workers = calloc(wanted ? wanted : 1, sizeof *p->workers);
    if (!p->pool || !p->workers) return 0;
    p->pool[POOL_SYSCALL] = (uint64_t)(uintptr_t)(void (*)(void))syscall;
    while (p->started < wanted && !pthread_create(&p->workers[p->started], NULL, p->worker, p->pool)) p->started++;
    __atomic_store_n(&p->pool[POOL_WORKERS], p->started, __ATOMIC_RELEASE);
    return 1;
}

/* A forked process has none of the threads: calls run on one. */
static void in_child(void) {
    strop_model *m;
    int i;
    pthread_mutex_init(&open_lock, NULL);
    for (m = open_models; m; m = m->next) {
        pthread_mutex_init(&m->lock, NULL);
        for (i = 0; i < 2; i++) {
            if (m->programs[i].pool) m->programs[i].pool[POOL_WORKERS] = 0;
            m->programs[i].started = 0;
        }
    }
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* ---- what the header offers ---------------------------------------------------------------------------------------- */

static strop_model *open_data(const void *data, size_t bytes, int mapped, int file, const strop_code *code, size_t count,
                              report r) {
    strop_model *m = calloc(1, sizeof *m);
    size_t i, k;
    if (!m) {
        if (mapped) munmap((void *)(uintptr_t)data, bytes);
        refuse(r, STROP_CANNOT_READ, "no memory for the model");
        return NULL;
    }
    m->data = data;
    m->bytes = bytes;
    m->mapped = mapped;
    pthread_mutex_init(&m->lock, NULL);
    if (!read_tables(m, r)) goto failed;
    for (i = 0; i < 2 && m->programs[i].row; i++) {
        program *p = &m->programs[i];
        if (!code) {
            if (!map_code(m, p, file, r)) goto failed;
            continue;
        }
        for (k = 0; k < count && strcmp(code[k].target, strop_target(m)); k++);
        if (k == count || !code[k].entry[i]) {
            refuse(r, STROP_CANNOT_RUN_HERE, "no code for %.60s is linked", strop_target(m));
            goto failed;
        }
        p->entry = code[k].entry[i];
        p->worker = code[k].worker[i];
        p->end_workers = code[k].end_workers[i];
    }
    pthread_once(&fork_once, watch_forks);
    pthread_mutex_lock(&open_lock);
    m->next = open_models;
    open_models = m;
    pthread_mutex_unlock(&open_lock);
    last_reason = STROP_OPENED;
    return m;
failed:
    strop_close(m);
    return NULL;
}

static strop_model *open_path(const char *path, const strop_code *code, size_t count, report r) {
    struct stat about;
    strop_model *m;
    void *data;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) || !S_ISREG(about.st_mode)) {
        if (file >= 0) close(file);
        refuse(r, STROP_CANNOT_READ, "the model file `%.120s` cannot be read", path);
        return NULL;
    }
    if (!about.st_size) {
        close(file);
        refuse(r, STROP_NOT_A_MODEL, "not a model file: it is empty");
        return NULL;
    }
    data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) {
        close(file);
        refuse(r, STROP_CANNOT_READ, "the model file `%.120s` cannot be mapped", path);
        return NULL;
    }
    m = open_data(data, (size_t)about.st_size, 1, file, code, count, r);
    close(file);
    return m;
}

strop_model *strop_open(const char *path, char *error, size_t error_bytes) {
    report r = {error, error_bytes};
    return open_path(path, NULL, 0, r);
}

strop_model *strop_open_linked(const char *path, const strop_code *code, size_t count, char *error, size_t error_bytes) {
    report r = {error, error_bytes};
    return open_path(path, code, count, r);
}

strop_model *strop_open_memory(const void *data, size_t bytes, char *error, size_t error_bytes) {
    report r = {error, error_bytes};
    if ((uintptr_t)data % ALIGNMENT) {
        refuse(r, STROP_NOT_A_MODEL, "a model file in memory has to lie at a multiple of %d bytes", ALIGNMENT);
        return NULL;
    }
    return open_data(data, bytes, 0, -1, NULL, 0, r);
}

void strop_close(strop_model *m) {
    strop_model **at;
    int i;
    if (!m) return;
    pthread_mutex_lock(&open_lock);
    for (at = &open_models; *at && *at != m; at = &(*at)->next);
    if (*at) *at = m->next;
    pthread_mutex_unlock(&open_lock);
    for (i = 0; i < 2; i++) {
        program *p = &m->programs[i];
        if (p->started) p->end_workers(p->pool);
        while (p->started) pthread_join(p->workers[--p->started], NULL);
        while (p->frames) {
            frame *f = p->frames;
            p->frames = f->next;
            free_frame(f);
        }
        free(p->pool);
        free(p->workers);
        if (p->image) munmap(p->image, p->image_bytes);
    }
    pthread_mutex_destroy(&m->lock);
    if (m->mapped) munmap((void *)(uintptr_t)m->data, m->bytes);
    free(m->tensors);
    free(m);
}

uint32_t strop_input_count(const strop_model *m) { return m->header.inputs; }
uint32_t strop_output_count(const strop_model *m) { return m->header.outputs; }
const strop_tensor *strop_input(const strop_model *m, uint32_t i) { return i < m->header.inputs ? &m->tensors[i] : NULL; }
const strop_tensor *strop_output(const strop_model *m, uint32_t i) {
    return i < m->header.outputs ? &m->tensors[m->header.inputs + i] : NULL;
}
const char *strop_target(const strop_model *m) { return m->names + m->variant->name; }
uint32_t strop_threads(const strop_model *m) { return m->variant->threads; }

/* Whether the results may be used: not where a nest watched values that are not finite. */
static strop_status run(strop_model *m, program *p, const void *const *inputs, void *const *outputs, int *usable) {
    const uint32_t *slots = m->numbers + p->row->first_slot;
    uint32_t i;
    int64_t status;
    frame *f;
    pthread_mutex_lock(&m->lock);
    f = p->frames;
    if (f) p->frames = f->next;
    else if (start_workers(m, p)) f = new_frame(m, p);
    pthread_mutex_unlock(&m->lock);
    if (!f) return STROP_NO_MEMORY;
    for (i = 0; i < m->header.inputs; i++) f->slots[slots[i]] = (uint64_t)(uintptr_t)inputs[i];
    for (i = 0; i < m->header.outputs; i++) f->slots[slots[m->header.inputs + i]] = (uint64_t)(uintptr_t)outputs[i];
    p->entry(f->table, f->arena, f->slots);
    status = f->status;
    f->status = 0;
    pthread_mutex_lock(&m->lock);
    f->next = p->frames;
    p->frames = f;
    pthread_mutex_unlock(&m->lock);
    *usable = !(status >> 8 * NOT_FINITE & 1);
    return status >> 8 * OUT_OF_RANGE & 1 ? STROP_OUT_OF_RANGE : STROP_OK;
}

strop_status strop_run(strop_model *m, const void *const *inputs, void *const *outputs) {
    int usable = 1;
    strop_status status = run(m, &m->programs[0], inputs, outputs, &usable);
    if (status == STROP_OK && !usable && m->programs[1].row) status = run(m, &m->programs[1], inputs, outputs, &usable);
    return status;
}
