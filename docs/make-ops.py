"""Prints docs/Ops.md: the operators that the importers read, from the importers' own tables, the tests and the onnx package.

usage: make-ops.py > Ops.md

make-ops.py --check Ops.md [CORE] fails where the page promises an operator that is not there, where PyTorch has a core overload that is
not, and where an overload is in no program with what PyTorch computed of it."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).parent.parent
GROUPS = [("floats", {"float16": "f16", "bfloat16": "bf16", "float": "f32", "double": "f64"}),
          ("integers", {f"{sign}int{bits}": f"{sign or 's'}{bits}".replace("s", "i") for sign in ("", "u") for bits in (8, 16, 32, 64)}),
          ("bool", {"bool": "bool"}),
          ("narrow", {name: name for name in ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float4e2m1",
                                              "int4", "uint4", "int2", "uint2")})]


def element_types(domain, name):
    """Of the first operand (or the result, of an operator without any), by the registry of the onnx package."""
    import onnx
    try:
        schema = onnx.defs.get_schema(name, domain)
    except onnx.defs.SchemaError:
        return ""  # an operator of ONNX Runtime, which the registry does not have
    first = (list(schema.inputs) + list(schema.outputs))[0]
    allowed = {t[len("tensor("):-1] for c in schema.type_constraints if c.type_param_str == first.type_str
               for t in c.allowed_type_strs if t.startswith("tensor(")} or {first.type_str[len("tensor("):-1]}
    said = []
    for group, members in GROUPS:
        there = [short for long, short in members.items() if long in allowed]
        if not there:
            continue
        # bfloat16 came later than the other floats to many operators; the narrow types came a few at a time.
        whole = group == "narrow" or set(members) - allowed <= {"bfloat16"}
        said += [group] if whole else there
    return ", ".join(said).replace("floats, integers", "numbers")


def decided_at_run_time(path):
    """Whether the file's operators may be steps of the host program."""
    return bool(re.search(r"ir::(CallOp|LoopOp|IfOp)", path.read_text()))


def onnx_rows():
    """(operator, operator sets, file): the file is the one with the handler."""
    folder = root / "lib/Import/Onnx"
    handlers = {name: path.name for path in sorted((folder / "Ops").glob("*.cpp"))
                for name in re.findall(r"^void (\w+)\(Node &n\)", path.read_text(), re.M)}
    families = {"UNARY": "Unary.cpp", "BINARY": "Binary.cpp", "COMPARE": "Binary.cpp", "VARIADIC": "Binary.cpp"}
    rows = {}
    table = re.sub(r"//.*", "", (folder / "OpTable.def").read_text())
    for kind, domain, name, since, rest in re.findall(r'^(\w+)\((?:"([\w.]+)", )?"(\w+)", (\d+), (\w+)', table, re.M):
        row = rows.setdefault(f"{domain}.{name}" if domain else name, ([], families.get(kind) or handlers[rest]))
        row[0].append(int(since))
    return [(name, *row) for name, row in sorted(rows.items(), key=lambda item: item[0].lower())]


def onnx_tests():
    """operator -> the tests that name it."""
    tests = {}
    for path in sorted((root / "test").glob("**/*.textproto")):
        for name in re.findall(r'op_type: "(\w+)"', path.read_text()):
            if not path.name.startswith("error-"):
                tests.setdefault(name, set()).add(path.stem)
    for file in ("dtype_cases", "opset_cases"):
        for name in re.findall(r'"(\w+)"', (root / f"test/Conformance/{file}.py").read_text()):
            tests.setdefault(name, set()).add(file.replace("_cases", "s"))
            tests.setdefault("Reduce" + name, set()).add(file.replace("_cases", "s"))
    return tests


def core_overloads():
    path = sys.argv[3] if len(sys.argv) > 3 else root / "test/Docs/Inputs/core-aten.txt"
    lines = pathlib.Path(path).read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def fx_rows():
    """(overload, arguments, file); what an operator does with complex numbers (findComplexOp) is no row of its own."""
    seen = set()
    sizes = re.findall(r'"aten\.(sym_\w+)"', (root / "lib/Import/Fx/ImportNodes.cpp").read_text())  # nodes, and no entries of a table
    yield from ((name, "", "ImportNodes.cpp") for name in core_overloads() if name.split(".")[0] in sizes)
    for path in sorted((root / "lib/Import/Fx/Ops").glob("*.cpp"), key=lambda path: (path.name == "Complex.cpp", path)):
        if path.name == "Numbers.cpp":  # Python's arithmetic
            continue
        text = path.read_text()
        named = dict(re.findall(r'const char \*?(?:const )?(\w+)(?:\[\])? = "([^"]*)"', text))
        for name, shape in re.findall(r'^\s*\{"(\w+\.[\w.]+)",\s*("[^"]*"|\w+)', text, re.M):
            if name not in seen and name != "_holds.default":  # which regions are made of, and no operator of PyTorch
                seen.add(name)
                yield name, shape.strip('"') if shape[0] == '"' else named.get(shape, ""), path.name


def fx_programs():
    """overload -> the families of programs with numbers that have it."""
    tests = {}
    for path in sorted((root / "test/Conformance/Inputs/fx").glob("*.json")):
        for name in re.findall(r"torch\.ops\.(?:aten\.)?([\w.]+)", path.read_text()):
            base, _, overload = name.partition(".")
            own = base[:-1] if base.endswith("_") and not base.endswith("__") else base  # relu_ is relu, written in place
            tests.setdefault(f"{own}.{overload}", set()).add(path.stem)
    return tests


def fx_tests():
    tests = fx_programs()
    for path in sorted((root / "test/Import/Fx").glob("*.test")):
        for name in re.findall(r"torch\.ops\.aten\.([\w.]+)", path.read_text()):
            if not path.name.startswith("error-"):
                tests.setdefault(name, set()).add(path.stem)
    return tests


def shortened(names):
    names = sorted(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


onnx, fx = onnx_rows(), sorted(fx_rows())
if sys.argv[1:2] == ["--check"]:
    known = {name for name, *_ in onnx} | {name for name, *_ in fx}
    text = pathlib.Path(sys.argv[2]).read_text()
    promised = {line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")} - {"operator", "overload"}
    print("not there any more:", *sorted(promised - known))
    print("not on the page:", *sorted(known - promised))
    overloads = {name for name, *_ in fx}
    missing, untested = set(core_overloads()) - overloads, overloads - set(fx_programs())
    print("core overloads that are not read:", *sorted(missing))
    print("overloads without numbers:", *sorted(untested))
    sys.exit(bool(promised - known or missing or untested))
print(f"""# Operators

Made by `docs/make-ops.py` from the importers' tables and the tests. What a particular node asks beyond what its operator's
translation does is reported when the model is read: `lathe compile` exits with 2 and lists all such nodes.

Every operator is a composition of the `lathe` dialect's ops, which every target has: the CPU variants and CUDA. Those marked "host" decide
something while the model runs (sizes that depend on data, branches, loops), in steps of the host program: for CUDA, too, where such a size
is read back from the device.

## ONNX: {len(onnx)} operators

"From" is the operator set from which a row's meaning holds, several where it changed; attributes that became operands in between are read in
either form. "Elements" are those that the format allows for the first operand: floats are f16, bf16, f32 and f64, integers have 8 to 64 bits and
either sign, numbers are both, narrow are floats and integers of 8 bits and less. All of them are read, but strings, narrow types that would be
computed in (Dropout when training, QLinearMatMul), integers that would be interpolated (GridSample), and bool in Col2Im and Unique.
Sources are in `lib/Import/Onnx/Ops/`. Beside the named tests (in `test/Import/Onnx`; `dtypes` and `opsets` are those of `test/Conformance`),
ONNX's node tests run every operator that they have.

| operator | from | elements | source | tests | targets |
|---|---|---|---|---|---|""")
tests = onnx_tests()
for name, since, where in onnx:
    domain, _, operator = name.rpartition(".")
    targets = "host" if decided_at_run_time(root / "lib/Import/Onnx/Ops" / where) else "all"
    print(f"| {name} | {', '.join(map(str, sorted(since)))} | {element_types(domain, operator)} | {where} | {shortened(tests.get(operator, ()))} | {targets} |")
print(f"""
## PyTorch: {len(fx)} ATen overloads

Among them are all {len(core_overloads())} that PyTorch 2.11 tags as core. Each is in a program whose numbers are compared with PyTorch's, which a test makes
sure of.

Arguments are in the short form of a schema that `lib/Import/Fx/OpContext.h` explains; element types follow PyTorch's promotion. Sources are in
`lib/Import/Fx/Ops/`, tests in `test/Import/Fx`, and programs with what PyTorch computed of them in `test/Conformance/Inputs/fx`. Other names of
these operators (`subtract`, `divide`), their forms that write their input (`relu_`) or a given tensor (`add.out`) and views as copies
(`slice_copy`) are read, too.

Beside operators: `cond` (both branches are computed, and one is selected), `map`, `scan` and `associative_scan` of known lengths, regions without gradients, under
autocast or of checkpoints. Complex numbers are pairs: a complex input, output or weight is a tensor with a last dimension of 2. Views,
copies, sums and products take them, beside the operators of `Complex.cpp`, `ComplexFunctions.cpp` and `Fourier.cpp`. Buffers that a program writes are states of
the artifact ([Artifact.md](Artifact.md)). Recurrent layers of more than 16 steps, or of an open number of them, are loops of the host
program ("host"). Numbers that a program reads from tensors (`item`, `nonzero`, masks as indices) are sizes of the host program.
Linear algebra (`Linalg.cpp`, `MatrixNorms.cpp`) is done by the machine's LAPACK in float64 ("host"): `liblapack.so.3` or `libopenblas.so.0`, opened
when a run first needs it; where there is none, that run fails and says so.

| overload | arguments | source | tests |
|---|---|---|---|""")
tests = fx_tests()
for name, shape, where in fx:
    shape = f"`{shape}`" if shape and shape != "nullptr" else ""
    print(f"| {name} | {shape} | {where} | {shortened(tests.get(name, ()))} |")
