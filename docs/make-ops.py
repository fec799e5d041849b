"""Prints docs/Ops.md: the operators that the importers read, from the importers' own tables.    usage: make-ops.py > Ops.md

make-ops.py --check Ops.md fails where the page promises an operator that is not there."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).parent.parent


def onnx_rows():
    """(operator, operator sets, file): the file is the one with the handler."""
    folder = root / "lib/Import/Onnx"
    handlers = {name: path.name for path in sorted((folder / "Ops").glob("*.cpp"))
                for name in re.findall(r"^void (\w+)\(Node &n\)", path.read_text(), re.M)}
    families = {"UNARY": "Unary.cpp", "BINARY": "Binary.cpp", "COMPARE": "Binary.cpp", "VARIADIC": "Binary.cpp"}
    rows = {}
    table = re.sub(r"//.*", "", (folder / "OpTable.def").read_text())
    for kind, domain, name, since, rest in re.findall(r'^(\w+)\((?:"([\w.]+)", )?"(\w+)", (\d+), (\w+)', table, re.M):
        name = f"{domain}.{name}" if domain else name
        row = rows.setdefault(name, ([], families.get(kind) or handlers[rest]))
        row[0].append(int(since))
    return [(name, sorted(since), where) for name, (since, where) in sorted(rows.items(), key=lambda item: item[0].lower())]


def fx_rows():
    for path in sorted((root / "lib/Import/Fx/Ops").glob("*.cpp")):
        names = sorted(set(re.findall(r'^\s*\{"([\w.]+)", "', path.read_text(), re.M)))
        if names:
            yield path.name, names


onnx, fx = onnx_rows(), list(fx_rows())
if sys.argv[1:2] == ["--check"]:
    known = {name for name, _, _ in onnx} | {name for _, names in fx for name in names}
    text = pathlib.Path(sys.argv[2]).read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    promised = {row[0] for row in rows if len(row) == 3} | {name for row in rows if len(row) == 2 for name in row[1].split(", ")}
    unknown = sorted(promised - known - {"operator", "overloads"})
    print("not there any more:", *unknown)
    sys.exit(bool(unknown))
print(f"""# Operators

Made by `docs/make-ops.py` from the importers' tables. Every operator is a composition of the `lathe` dialect's ops, so that all targets have all of
them; what a particular node asks beyond what its operator's translation does is reported when the model is read (`lathe compile` exits with 2).

## ONNX: {len(onnx)} operators

"From" is the operator set from which a row's meaning holds, several where it changed. Sources are in `lib/Import/Onnx/Ops/`.

| operator | from | source |
|---|---|---|""")
for name, since, where in onnx:
    print(f"| {name} | {', '.join(map(str, since))} | {where} |")
if fx:
    print(f"""
## PyTorch: {sum(len(names) for _, names in fx)} ATen overloads

By source, in `lib/Import/Fx/Ops/`.

| source | overloads |
|---|---|""")
    for where, names in fx:
        print(f"| {where} | {', '.join(names)} |")
