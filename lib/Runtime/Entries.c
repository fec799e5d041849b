/*===- Entries.c - Several models in one artifact ---------------------------===*\
|*
|* Each entry point has sizes, a signature and a program of its own, and so a context of its own with plans of its own. What it takes
|* to run them (code, constants, threads, working memory) and the states are the first context's.
|*
\*===----------------------------------------------------------------------===*/
#include "Runtime.h"

static const LatheEntry *entryAt(const LatheContext *context, uint32_t i) {
  return &LATHE_ARRAY(context, LatheEntry, context->blob->entries)[i];
}

uint32_t latheCountEntries(const LatheContext *context) { return context->blob->entries.count; }

const LatheHeader *latheEntryTables(const LatheContext *context, uint32_t entry) {
  return (const LatheHeader *)((const char *)context->blob + entryAt(context, entry)->tables);
}

const LatheProgram *latheEntryProgram(const LatheContext *context, uint32_t entry) {
  LatheArray all = latheEntryTables(context, entry)->programs;
  const LatheProgram *programs = LATHE_ARRAY(context, LatheProgram, all);
  for (uint32_t i = 0; i < all.count; ++i)
    if (programs[i].deviceType == (uint32_t)context->device.device_type)
      return &programs[i];
  return NULL;
}

/* A context that runs another entry point with what the first one has. */
static LatheStatus openEntry(LatheContext *first, uint32_t i) {
  LatheContext *entry = first->entries[i - 1] = calloc(1, sizeof(LatheContext));
  if (!entry)
    return latheOutOfMemory(first, sizeof(LatheContext), "an entry point's context");
  *entry = (LatheContext){.blob = first->blob,
                          .meta = latheEntryTables(first, i),
                          .first = first,
                          .entry = i,
                          .functions = first->functions,
                          .program = latheEntryProgram(first, i),
                          .kernels = first->kernels,
                          .data = first->data,
                          .hostData = first->hostData,
                          .variants = first->variants,
                          .pool = first->pool,
                          .threads = first->threads,
                          .device = first->device,
                          .states = first->states,
                          .maxPlans = first->maxPlans,
                          .workspace = first->workspace,
                          .backend = first->backend,
                          .backendState = first->backendState,
                          .profile = first->profile,
                          .profileUser = first->profileUser};
  LatheStatus status = latheOpenSignature(entry);
  return status ? latheFail(first, status, "%s", entry->error) : LATHE_OK;
}

LatheStatus latheOpenEntries(LatheContext *context) {
  uint32_t count = latheCountEntries(context);
  if (count == 1)
    return LATHE_OK;
  context->entries = calloc(count - 1, sizeof(LatheContext *));
  if (!context->entries)
    return latheOutOfMemory(context, sizeof(LatheContext *) * count, "the entry points' table");
  LatheStatus status = LATHE_OK;
  for (uint32_t i = 1; !status && i < count; ++i)
    status = openEntry(context, i);
  return status;
}

void latheCloseEntries(LatheContext *context) {
  for (uint32_t i = 1; context->entries && i < latheCountEntries(context); ++i) {
    LatheContext *entry = context->entries[i - 1];
    if (!entry)
      continue;
    latheFreePlans(entry);
    latheCloseSignature(entry);
    free(entry);
  }
  free(context->entries);
}

/*===-- The caller's part ---------------------------------------------------===*/

uint32_t lathe_entry_count(LatheContext *context) { return context && context->first ? latheCountEntries(context->first) : 0; }

const char *lathe_entry_name(LatheContext *context, uint32_t index) {
  return index < lathe_entry_count(context) ? latheName(context, entryAt(context, index)->name) : NULL;
}

LatheStatus lathe_entry(LatheContext *context, const char *name, LatheContext **entry) {
  *entry = NULL;
  if (!context)
    return LATHE_INVALID;
  if (context->broken)
    return context->broken;
  LatheContext *first = context->first;
  char names[512] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < latheCountEntries(first); ++i) {
    const char *own = lathe_entry_name(first, i);
    if (name && !strcmp(own, name)) {
      *entry = i ? first->entries[i - 1] : first;
      return LATHE_OK;
    }
    if (used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s'%s'", i ? ", " : "", own);
  }
  return latheFail(context, LATHE_INVALID, "the artifact has no entry point '%s'; it has %s", name ? name : "(null)", names);
}
