/*===- Modules.c - Machine code for the device at hand ----------------------===*/
#include "Cuda.h"

const LatheCudaTable *latheCudaTable(const LatheContext *context) {
  return context->meta->cuda ? (const LatheCudaTable *)((const char *)context->blob + context->meta->cuda) : NULL;
}

/* "sm_75, sm_90a" of what a kernel has. */
static void listArchitectures(const LatheContext *context, const LatheCudaVariant *variants, uint32_t count, char *text,
                              size_t capacity) {
  size_t used = 0;
  text[0] = 0;
  for (uint32_t i = 0; i < count && used < capacity; ++i)
    used += (size_t)snprintf(text + used, capacity - used, "%ssm_%u%s", i ? ", " : "", variants[i].sm, variants[i].sm == 90 ? "a" : "");
  (void)context;
}

LatheStatus latheCudaChooseVariant(LatheContext *context, const LatheKernel *kernel, const LatheCudaVariant **variant) {
  const LatheCudaTable *table = latheCudaTable(context);
  if (!table || kernel->cuda >= table->launches.count)
    return latheFail(context, LATHE_UNSUPPORTED, "kernel '%s' has no code for a GPU", latheName(context, kernel->name));
  const LatheCudaLaunch *launch = LATHE_ARRAY(context, LatheCudaLaunch, table->launches) + kernel->cuda;
  const LatheCudaVariant *variants = LATHE_ARRAY(context, LatheCudaVariant, launch->variants);
  const LatheCudaModule *modules = LATHE_ARRAY(context, LatheCudaModule, table->modules);
  int32_t capability = latheCuda(context)->capability;
  *variant = NULL;
  int32_t best = -1;
  for (uint32_t i = 0; i < launch->variants.count; ++i) {
    int32_t sm = (int32_t)variants[i].sm;
    bool text = modules[variants[i].module].kind == 1;
    /* Text runs on everything later, machine code on later GPUs of its generation, sm_90a's on 9.0 alone. */
    bool fits = text ? sm <= capability : sm == 90 ? capability == 90 : sm <= capability && sm / 10 == capability / 10;
    int32_t rank = 2 * sm + !text;
    if (fits && rank > best) {
      *variant = &variants[i];
      best = rank;
    }
  }
  if (*variant)
    return LATHE_OK;
  char have[128];
  listArchitectures(context, variants, launch->variants.count, have, sizeof have);
  return latheFail(context, LATHE_UNSUPPORTED,
                   "CUDA device %d has compute capability %d.%d, the artifact has code for %s: compile it with --target cuda:sm%d or "
                   "with ptx",
                   context->device.device_id, capability / 10, capability % 10, have, capability);
}

LatheStatus latheCudaFunction(LatheContext *context, const LatheCudaVariant *variant, uint32_t entry, uint32_t shared,
                              CUfunction *fn) {
  LatheCuda *cuda = latheCuda(context);
  const LatheCudaModule *module = LATHE_ARRAY(context, LatheCudaModule, latheCudaTable(context)->modules) + variant->module;
  CUmodule *loaded = &cuda->modules[variant->module];
  if (!*loaded)
    LATHE_CUDA_TRY(context, cuda->driver.loadModule(loaded, cuda->hostData + module->offset), "loading machine code");
  if (entry >= variant->entries.count)
    return latheFail(context, LATHE_FAILED, "the artifact's launch plan names an entry point that is not there");
  const char *name = latheName(context, LATHE_ARRAY(context, LatheString, variant->entries)[entry]);
  LATHE_CUDA_TRY(context, cuda->driver.function(fn, *loaded, name), "finding a kernel");
  if (shared) /* beside what the code declares: 48 KiB hold for both together unless more is asked for */
    LATHE_CUDA_TRY(context, cuda->driver.setAttribute(*fn, CU_FUNCTION_MAX_SHARED, (int)shared), "reserving shared memory");
  return LATHE_OK;
}
