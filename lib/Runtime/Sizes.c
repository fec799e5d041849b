/*===- Sizes.c - Symbols, expressions and relations -------------------------===*/
#include "Runtime.h"

static bool divide(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return false;
  int64_t q = a / b, r = a % b;
  bool down = r != 0 && (r < 0) != (b < 0);
  *quotient = q - down;
  *remainder = down ? r + b : r;
  return true;
}

static bool step(const LatheInstr *in, int64_t *sizes) {
  int64_t unused, *dst = &sizes[in->dst];
  if (in->op == LATHE_INSTR_CONST) {
    *dst = (int64_t)((uint64_t)in->b << 32 | in->a);
    return true;
  }
  int64_t a = sizes[in->a], b = sizes[in->b];
  switch (in->op) {
  case LATHE_INSTR_ADD:
    return !__builtin_add_overflow(a, b, dst);
  case LATHE_INSTR_SUB:
    return !__builtin_sub_overflow(a, b, dst);
  case LATHE_INSTR_MUL:
    return !__builtin_mul_overflow(a, b, dst);
  case LATHE_INSTR_FLOORDIV:
    return divide(a, b, dst, &unused);
  case LATHE_INSTR_MOD:
    return divide(a, b, &unused, dst);
  case LATHE_INSTR_MIN:
    *dst = a < b ? a : b;
    return true;
  case LATHE_INSTR_MAX:
    *dst = a > b ? a : b;
    return true;
  case LATHE_INSTR_COPY:
    *dst = a;
    return true;
  }
  return false;
}

LatheStatus latheEvaluate(LatheContext *context, uint32_t first, uint32_t count, int64_t *sizes) {
  const LatheInstr *instrs = LATHE_ARRAY(context, LatheInstr, context->meta->instrs);
  for (uint32_t i = first; i < first + count; ++i)
    if (!step(&instrs[i], sizes)) {
      const char *user = latheUserOfSlot(context, instrs[i].dst);
      return latheFail(context, LATHE_INVALID, "a size does not fit 64 bits or divides by zero%s%s", user ? ", in: " : "",
                       user ? user : "");
    }
  return LATHE_OK;
}

static const char *inputName(LatheContext *context, uint32_t input) {
  return latheName(context, LATHE_ARRAY(context, LatheTensor, context->meta->inputs)[input].name);
}

/* An element of an input that is no size, or no axis. */
static LatheStatus failElement(LatheContext *context, const LatheSymbol *symbol, int64_t value) {
  char bounds[64];
  if (symbol->max == INT64_MAX)
    snprintf(bounds, sizeof bounds, ">= %lld", (long long)symbol->min);
  else
    snprintf(bounds, sizeof bounds, "in [%lld, %lld]", (long long)symbol->min, (long long)symbol->max);
  return latheFail(context, LATHE_INVALID, "input '%s': element %u is %lld, expected %s", inputName(context, symbol->input),
                   symbol->dim - LATHE_ELEMENT, (long long)value, bounds);
}

static LatheStatus failRange(LatheContext *context, const LatheSymbol *symbol, int64_t value) {
  if (symbol->dim >= LATHE_ELEMENT)
    return failElement(context, symbol, value);
  const char *name = latheName(context, symbol->name), *input = inputName(context, symbol->input);
  const LatheTensor *tensor = &LATHE_ARRAY(context, LatheTensor, context->meta->inputs)[symbol->input];
  const LatheDim *dim = &LATHE_ARRAY(context, LatheDim, tensor->dims)[symbol->dim];
  int64_t raw = value;
  if (strcmp(latheName(context, dim->text), name)) {
    const LatheTensor *first = LATHE_ARRAY(context, LatheTensor, context->meta->inputs);
    uint32_t index = symbol->dim;
    for (uint32_t i = 0; i < symbol->input; ++i)
      index += first[i].dims.count;
    raw = context->rawDims[index];
  }
  char bounds[320];
  if (symbol->max == INT64_MAX)
    snprintf(bounds, sizeof bounds, "%s >= %lld", name, (long long)symbol->min);
  else
    snprintf(bounds, sizeof bounds, "%s in [%lld, %lld]", name, (long long)symbol->min, (long long)symbol->max);
  if (raw == value && !strcmp(latheName(context, dim->text), name))
    return latheFail(context, LATHE_INVALID, "input '%s': dimension %u is %lld, expected %s", input, symbol->dim,
                     (long long)raw, bounds);
  return latheFail(context, LATHE_INVALID, "input '%s': dimension %u is %lld = %s, which gives %s = %lld, expected %s", input,
                   symbol->dim, (long long)raw, latheName(context, dim->text), name, (long long)value, bounds);
}

static LatheStatus bindSymbols(LatheContext *context, int64_t *sizes) {
  const LatheSymbol *symbols = LATHE_ARRAY(context, LatheSymbol, context->meta->symbols);
  for (uint32_t i = 0; i < context->meta->numSymbols; ++i) {
    const LatheSymbol *symbol = &symbols[i];
    LatheStatus status = latheEvaluate(context, symbol->bindFirst, symbol->bindCount, sizes);
    if (status)
      return status;
    if (symbol->input != LATHE_NONE && (sizes[i] < symbol->min || sizes[i] > symbol->max))
      return failRange(context, symbol, sizes[i]);
  }
  return LATHE_OK;
}

/* Says where the symbol that a dimension's text names exactly was bound: " (from input 'ids')". */
static void describeOrigin(LatheContext *context, const char *text, uint32_t input, char *origin, size_t capacity) {
  const LatheSymbol *symbols = LATHE_ARRAY(context, LatheSymbol, context->meta->symbols);
  origin[0] = 0;
  for (uint32_t i = 0; i < context->meta->numSymbols; ++i)
    if (symbols[i].input != LATHE_NONE && !strcmp(latheName(context, symbols[i].name), text)) {
      if (symbols[i].dim >= LATHE_ELEMENT)
        snprintf(origin, capacity, " (element %u of input '%s')", symbols[i].dim - LATHE_ELEMENT, inputName(context, symbols[i].input));
      else if (symbols[i].input == input)
        snprintf(origin, capacity, " (from dimension %u)", symbols[i].dim);
      else
        snprintf(origin, capacity, " (from input '%s')", inputName(context, symbols[i].input));
    }
}

static bool isNumber(const char *text) {
  if (*text == '-')
    ++text;
  if (!*text)
    return false;
  for (; *text; ++text)
    if (*text < '0' || *text > '9')
      return false;
  return true;
}

static LatheStatus checkDims(LatheContext *context, const int64_t *sizes) {
  const LatheTensor *inputs = LATHE_ARRAY(context, LatheTensor, context->meta->inputs);
  const int64_t *raw = context->rawDims;
  for (uint32_t i = 0; i < context->numInputs; ++i) {
    const LatheDim *dims = LATHE_ARRAY(context, LatheDim, inputs[i].dims);
    for (uint32_t d = 0; d < inputs[i].dims.count; ++d, ++raw) {
      int64_t expected = sizes[dims[d].slot];
      if (*raw == expected)
        continue;
      const char *text = latheName(context, dims[d].text), *name = latheName(context, inputs[i].name);
      if (isNumber(text))
        return latheFail(context, LATHE_INVALID, "input '%s': dimension %u is %lld, expected %lld", name, d, (long long)*raw,
                         (long long)expected);
      char origin[256];
      describeOrigin(context, text, i, origin, sizeof origin);
      return latheFail(context, LATHE_INVALID, "input '%s': dimension %u is %lld, expected %s = %lld%s", name, d,
                       (long long)*raw, text, (long long)expected, origin);
    }
  }
  return LATHE_OK;
}

static bool isOfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$';
}

static bool mentions(const char *text, const char *name) {
  size_t length = strlen(name);
  for (const char *at = text; *at; ++at) {
    size_t i = 0;
    while (i < length && at[i] == name[i])
      ++i;
    if (i == length && length && (at == text || !isOfName(at[-1])) && !isOfName(at[length]))
      return true;
  }
  return false;
}

/* A condition, and the sizes in it: "a < b, where a = 5 (from dimension 0 of input 'x'), b = 3 (...)". */
static LatheStatus failCondition(LatheContext *context, const char *whose, const char *text, const int64_t *sizes) {
  const LatheSymbol *symbols = LATHE_ARRAY(context, LatheSymbol, context->meta->symbols);
  char values[512] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < context->meta->numSymbols && used < sizeof values; ++i) {
    const char *name = latheName(context, symbols[i].name);
    if (symbols[i].input != LATHE_NONE && symbols[i].dim < LATHE_ELEMENT && mentions(text, name))
      used += (size_t)snprintf(values + used, sizeof values - used, "%s%s = %lld (from dimension %u of input '%s')",
                               used ? ", " : ", where ", name, (long long)sizes[i], symbols[i].dim, inputName(context, symbols[i].input));
  }
  return latheFail(context, LATHE_INVALID, "%s do not satisfy: %s%s", whose, text, values);
}

LatheStatus latheCheckRelation(LatheContext *context, uint32_t index, const int64_t *sizes) {
  const LatheCheck *check = &LATHE_ARRAY(context, LatheCheck, context->meta->checks)[index];
  int64_t a = sizes[check->a], b = sizes[check->b];
  const char *whose = check->flags & LATHE_CHECK_VALUES ? "the model's values" : "the inputs' dimensions";
  if (check->kind == LATHE_CHECK_HOLDS)
    return a <= b ? LATHE_OK : failCondition(context, whose, latheName(context, check->text), sizes);
  const bool holds[] = {a == b, a <= b, a < b, a != b};
  static const char *const opposite[] = {"is not", "exceeds", "is not below", "equals"};
  if (check->kind < 4 && holds[check->kind])
    return LATHE_OK;
  return latheFail(context, LATHE_INVALID, "%s do not satisfy: %s (%lld %s %lld)", whose, latheName(context, check->text), (long long)a,
                   opposite[check->kind & 3], (long long)b);
}

LatheStatus latheBindSizes(LatheContext *context, int64_t *sizes) {
  const LatheHeader *meta = context->meta;
  memcpy(sizes + meta->firstRawDim, context->rawDims, sizeof(int64_t) * context->numRawDims);
  LatheStatus status = bindSymbols(context, sizes);
  if (!status)
    status = latheEvaluate(context, meta->evalFirst, meta->evalCount, sizes);
  if (!status)
    status = checkDims(context, sizes);
  for (uint32_t i = 0; !status && i < meta->entryChecks; ++i)
    status = latheCheckRelation(context, i, sizes);
  return status;
}
