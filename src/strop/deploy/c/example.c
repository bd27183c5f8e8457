/* example MODEL [INPUT…]: runs a model file once and writes its outputs.
 *
 * Each INPUT is a file of raw elements (zeros where there is none); output i goes to out<i>.bin in the current folder.
 * Exit codes: 0, 1 the run failed, 2 wrong arguments, else the reason of strop_why. */
#include "strop.h"

#include <stdio.h>
#include <stdlib.h>

int main(int count, char **given) {
    char error[256], name[32];
    strop_model *model;
    const void **inputs;
    void **outputs;
    strop_status status;
    uint32_t i;
    if (count < 2) {
        fprintf(stderr, "example MODEL [INPUT...]\n");
        return 2;
    }
    model = strop_open(given[1], error, sizeof error);
    if (!model) {
        fprintf(stderr, "%s\n", error);
        return strop_why();
    }
    printf("target %s, %u threads\n", strop_target(model), strop_threads(model));
    inputs = calloc(strop_input_count(model) + 1, sizeof *inputs);
    outputs = calloc(strop_output_count(model) + 1, sizeof *outputs);
    if (!inputs || !outputs) return 1;
    for (i = 0; i < strop_input_count(model); i++) {
        const strop_tensor *t = strop_input(model, i);
        void *data = calloc(1, t->bytes + 1);
        FILE *file = (int)i + 2 < count ? fopen(given[i + 2], "rb") : NULL;
        if (!data || (file && fread(data, 1, t->bytes, file) != t->bytes)) {
            fprintf(stderr, "input %s takes %llu bytes\n", t->name, (unsigned long long)t->bytes);
            return 2;
        }
        if (file) fclose(file);
        inputs[i] = data;
    }
    for (i = 0; i < strop_output_count(model); i++) outputs[i] = calloc(1, strop_output(model, i)->bytes + 1);
    status = strop_run(model, inputs, outputs);
    for (i = 0; status == STROP_OK && i < strop_output_count(model); i++) {
        const strop_tensor *t = strop_output(model, i);
        FILE *file;
        snprintf(name, sizeof name, "out%u.bin", i);
        file = fopen(name, "wb");
        if (!file || fwrite(outputs[i], 1, t->bytes, file) != t->bytes) return 1;
        fclose(file);
    }
    strop_close(model);
    if (status != STROP_OK) fprintf(stderr, "the run failed: %s\n", status == STROP_NO_MEMORY ? "no memory" : "an index is out of range");
    return status != STROP_OK;
}
