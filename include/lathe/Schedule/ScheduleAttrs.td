//===- ScheduleAttrs.td - How a kernel runs ---------------------*- tablegen -*-===//
//
// Schedules are attributes: they are printed, can be written by hand in a test, and are all that an emitter goes by beside the
// kernel and the machine. See docs/Rationale/Schedules.md.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_ATTRS
#define LATHE_SCHEDULE_ATTRS

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Schedule_Dialect : Dialect {
  let name = "schedule";
  let cppNamespace = "::lathe::schedule";
  let summary = "How kernels run: attributes alone";
  let description = [{
    A kernel that carries `schedule.cases` runs in one of several ways, of which the sizes of a call choose: the first case whose
    condition holds. The last one has none.

    ```mlir
    kernel.generic reduction @softmax axes(i0 = "m", i1 = "n") ... attributes {schedule.cases = [
        #schedule.case<"n <= 128 and 64 < n", #schedule.rows<persist = 8>>, #schedule.case<#schedule.rows<>>]}
    ```

    Constraints (the verifier names them):
      S1. `schedule.cases` stands at a `kernel.generic` and is an array of `#schedule.case`, of which the last one alone has no
          condition;
      S2. conditions are comparisons of expressions over the kernel's size symbols;
      S3. `#schedule.rows` is for kernels of class loop and reduction, and for contractions that run as sums of products;
          `#schedule.threads` likewise on a GPU, `#schedule.products` for contractions and reductions there; `#schedule.tiles` is for contractions, `#schedule.winograd` for kernels of class reduction,
          `#schedule.attention` for attentions.
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Schedule_Attr<string name, string attrMnemonic> : AttrDef<Schedule_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def Schedule_RowsAttr : Schedule_Attr<"Rows", "rows"> {
  let summary = "Of a row program: how it walks its lane axis";
  let description = [{
    `#schedule.rows<persist = 8, unroll = 2>`. What is not written is derived from the kernel and the machine.
      - `persist`: rows of at most this many vectors stay in registers from pass to pass; the last of them run under masks. 0: each pass
        walks the row in memory.
      - `unroll`: vectors per trip of the main loop.
      - `jam`: neighbours along a parallel axis that are worked on together, so that what all of them need is loaded once; 1: none.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "-1">:$persist, DefaultValuedParameter<"int64_t", "-1">:$unroll,
                        DefaultValuedParameter<"int64_t", "-1">:$jam);
  let genVerifyDecl = 1;
}

def Schedule_TilesAttr : Schedule_Attr<"Tiles", "tiles"> {
  let summary = "Of a contraction: the tiles that it is made of";
  let description = [{
    `#schedule.tiles<height = 6, narrow = 16>`. What is not written is derived from the kernel and the machine.
      - `height`: rows of a tile at most;
      - `panels`: so many panels of columns are worked on together, so that a tile of rows is read once for all of them. Not written:
        as many as the second-level cache of the machine that runs holds, where the rows do not lie there themselves;
      - `narrow`: the last panel of columns is worked off in this many columns where they are enough; 32: always whole panels;
      - `direct`: 1: what follows takes the sums of whole panels as they leave their registers, 0: from memory. Not written: directly where the sum is
        known to be short;
      - `rows`: how tiles read the first operand: 0: where its rows lie, 1: those of some tiles are copied together, 2: all are copied once,
        3: where they lie, some points of the sum after the other (Tiles.h). Not written: by what sizes are known.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "-1">:$height, DefaultValuedParameter<"int64_t", "-1">:$narrow,
                        DefaultValuedParameter<"int64_t", "-1">:$panels, DefaultValuedParameter<"int64_t", "-1">:$direct,
                        DefaultValuedParameter<"int64_t", "-1">:$rows);
  let genVerifyDecl = 1;
}

def Schedule_WinogradAttr : Schedule_Attr<"Winograd", "winograd"> {
  let summary = "Of a convolution: with fewer products, and rounded otherwise";
  let description = [{
    `#schedule.winograd<high = 4, wide = 4>`: tiles of 4x4 results of windows of three taps, by Winograd's minimal filtering. 2 or 4; 1, or
    not written, along an axis that no window slides over, or that is left as it is. The filter was packed for it, or for larger tiles.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "-1">:$high, DefaultValuedParameter<"int64_t", "-1">:$wide);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Of a tile, along the image's lines and within one: 1 where it is not written.
    std::array<int64_t, 2> results() const { return {std::max<int64_t>(getHigh(), 1), std::max<int64_t>(getWide(), 1)}; }
  }];
}

def Schedule_ThreadsAttr : Schedule_Attr<"Threads", "threads"> {
  let summary = "Of a row program on a GPU: which threads share a row, and where its values wait between passes";
  let description = [{
    `#schedule.threads<row = 32, persist = 4>`. What is not written is derived from the kernel, the machine and the condition.
      - `row`: threads that share a row: a power of two, up to 32 of a warp, more of a block. Where it is derived, several blocks share rows
        that are too few for the processors;
      - `persist`: accesses of each of them that stay in registers from pass to pass, 0: each pass walks the row in memory;
      - `keep`: 1: what several passes read each thread keeps in shared memory, of several blocks where the machine has clusters; 0: not;
      - `strip`: neighbours along a line that a thread computes together, so that windows which overlap, and elements side by side at computed places, are read once (Strips.h); 0: none.
    How wide accesses are follows from what the condition says of sizes: `"mod(n, 8) = 0"`.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "-1">:$row, DefaultValuedParameter<"int64_t", "-1">:$persist,
                        DefaultValuedParameter<"int64_t", "-1">:$keep, DefaultValuedParameter<"int64_t", "-1">:$strip);
  let genVerifyDecl = 1;
}

def Schedule_ProductsAttr : Schedule_Attr<"Products", "products"> {
  let summary = "Of a contraction on a GPU: the tiles of the result to pick from";
  let description = [{
    `#schedule.products<rows = 128, columns = 192>`. The plan picks among the tiles that are left, by what each would take for the sizes and
    the processors of the call (ProductTiles.h). Nothing written: among all.
      - `rows`, `columns`: of a tile;
      - `parts`: 0: the depth is never cut, 1: wherever there is enough of it; not written: where tiles are too few for the processors.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "-1">:$rows, DefaultValuedParameter<"int64_t", "-1">:$columns,
                        DefaultValuedParameter<"int64_t", "-1">:$parts);
  let genVerifyDecl = 1;
}

def Schedule_AttentionAttr : Schedule_Attr<"Attention", "attention"> {
  let summary = "Of an attention: how many queries and keys are worked on together";
  let description = [{
    `#schedule.attention<queries = 128, keys = 64>`. What is not written is derived from the kernel and the machine.
      - `queries`: that read keys and values together. 1: each alone, on a CPU with keys in the lanes, on a GPU with a block whose threads share
        them out. Else up to one vector of them, or two; on a GPU 64, tiles of threads, or 128, tiles of groups of warps;
      - `keys`: of a step: on a GPU 64 or 128 of groups; on a CPU as many whole tiles as fit.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "-1">:$queries, DefaultValuedParameter<"int64_t", "-1">:$keys);
  let genVerifyDecl = 1;
}

def Schedule_PlainAttr : AttrDef<Schedule_Dialect, "Plain"> {
  let mnemonic = "plain";
  let summary = "Everything is derived from the kernel and the machine";
}

def Schedule_CaseAttr : Schedule_Attr<"Case", "case"> {
  let summary = "A schedule and when it serves";
  let description = [{
    `#schedule.case<"n <= 128", #schedule.rows<persist = 8>>`; without a condition it always serves. Where the condition says
    that sizes are equal, or equal to numbers, the kernel is compiled with that: `"seq = 128"` is a kernel of fixed size.
  }];
  let parameters = (ins "::mlir::StringAttr":$condition, "::mlir::Attribute":$schedule);
  let genVerifyDecl = 1;
}

#endif // LATHE_SCHEDULE_ATTRS
