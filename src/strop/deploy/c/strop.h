/* Runs model files that `strop compile MODEL --target … -o model.strop` writes: from C, C++, Rust or anything that calls
 * C, on Linux (x86-64 and AArch64), with neither Python nor PyTorch.
 *
 *     cc -O2 app.c strop.c -o app -lpthread -lm
 *
 *     char error[256];
 *     strop_model *model = strop_open("model.strop", error, sizeof error);
 *     if (!model) { fprintf(stderr, "%s\n", error); return 1; }
 *     const void *inputs[] = {x};
 *     void *outputs[] = {y};
 *     strop_status status = strop_run(model, inputs, outputs);
 *     strop_close(model);
 *
 * strop_open maps and checks a file and executes nothing of it. strop_run executes its code: run only files of people
 * whom you trust as much as the authors of a library that you link. */
#ifndef STROP_H
#define STROP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strop_model strop_model;

typedef enum {
    STROP_OK = 0,
    STROP_OUT_OF_RANGE = 1, /* an index (of an embedding, a gather) is outside of its table */
    STROP_NO_MEMORY = 2
} strop_status;

typedef enum {
    STROP_F32 = 0, STROP_F64 = 1, STROP_I32 = 2, STROP_I64 = 3, STROP_BOOL = 4, STROP_U8 = 5, STROP_I8 = 6
} strop_dtype;

typedef struct {
    const char *name;
    strop_dtype dtype;
    uint32_t rank;
    int64_t shape[8];
    uint64_t bytes; /* of its elements, row after row */
} strop_tensor;

/* Why a model was not opened; the sentence is in `error`. Exit codes of the example program, too. */
typedef enum {
    STROP_OPENED = 0,
    STROP_CANNOT_READ = 3,   /* there is no such file, or it may not be read */
    STROP_NOT_A_MODEL = 4,   /* something else, damaged, or of another version */
    STROP_CANNOT_RUN_HERE = 5 /* this CPU lacks a feature that every variant of the file needs */
} strop_reason;

/* A file; its weights stay in its pages. NULL with a sentence in `error` where it cannot be used here. */
strop_model *strop_open(const char *path, char *error, size_t error_bytes);

/* The same for a file that is in memory, at a multiple of 64 bytes (linked into the program, say). It has to stay. */
strop_model *strop_open_memory(const void *data, size_t bytes, char *error, size_t error_bytes);

/* Code that is linked into the program in place of that of the file, where no memory may become executable:
 * `strop unpack model.strop DIR` writes the object file and this table. */
typedef struct {
    const char *target;
    void (*entry[2])(void *, void *, void *);
    void *(*worker[2])(void *);
    void (*end_workers[2])(void *);
} strop_code;
strop_model *strop_open_linked(const char *path, const strop_code *code, size_t count, char *error, size_t error_bytes);

strop_reason strop_why(void); /* of the calling thread's last strop_open… that failed */
void strop_close(strop_model *model);

uint32_t strop_input_count(const strop_model *model);
uint32_t strop_output_count(const strop_model *model);
const strop_tensor *strop_input(const strop_model *model, uint32_t i);
const strop_tensor *strop_output(const strop_model *model, uint32_t i);
const char *strop_target(const strop_model *model); /* of the variant that was chosen */
uint32_t strop_threads(const strop_model *model);

/* Inputs and outputs in the order of the model, each as many bytes as strop_input and strop_output say. Several threads
 * may call at once: each call has memory of its own. The file's threads help one call at a time. */
strop_status strop_run(strop_model *model, const void *const *inputs, void *const *outputs);

#ifdef __cplusplus
}
#endif
#endif
