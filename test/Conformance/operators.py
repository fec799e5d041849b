"""Compares the importer's table with the registry of the onnx package.     usage: operators.py

Every operator of the registry, in every version that a model of operator set 7 or later can mean, is in lib/Import/Onnx/OpTable.def, or
in operators.txt with the reason why not. Exit code 1 when something is in neither, 77 without the onnx package."""
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
IMPORTER = HERE.parent.parent / "lib/Import/Onnx"
OLDEST = 7


def newest():
    return int(re.search(r"kNewestOpset = (\d+)", (IMPORTER / "OpTable.h").read_text())[1])


def first_versions():
    """(domain, operator) -> the operator set from which lathe reads it."""
    table = re.sub(r"//.*", "", (IMPORTER / "OpTable.def").read_text())
    rows = re.findall(r'^\w+\((?:"([\w.]+)", )?"(\w+)", (\d+)', table, re.M)
    first = {}
    for domain, name, since in rows:
        first[domain, name] = min(int(since), first.get((domain, name), 1000))
    return first


def registered(onnx):
    """(domain, operator) -> the versions that count."""
    versions = collections.defaultdict(dict)
    for schema in onnx.defs.get_all_schemas_with_history():
        versions[schema.domain, schema.name][schema.since_version] = schema.deprecated
    for (domain, name), known in versions.items():
        since = sorted(known)
        if domain == "":
            started = [v for v in since if v <= OLDEST]
            since = started[-1:] + [v for v in since if OLDEST < v <= newest()]
        yield domain, name, [v for v in since if not known[v]]


def excluded():
    lines = (HERE / "operators.txt").read_text().splitlines()
    return {line.split(":")[0].strip() for line in lines if line.strip() and line[0] != "#"}


def main():
    try:
        import onnx
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    first, reasons, lacks, known = first_versions(), excluded(), [], set()
    count = 0
    for domain, name, since in registered(onnx):
        start = first.get((domain, name), 1000)
        count += sum(v >= start for v in since)
        full = f"{domain + '.' if domain else ''}{name}"
        lacks += [(full, f"{full} {v}") for v in since if v < start]
        known |= {full for v in since if v >= start} | {f"{full} {v}" for v in since if v >= start}
    missing = [version for name, version in lacks if not {name, version} & reasons]
    for version in missing:
        print("neither read nor excluded:", version)
    for line in sorted(reasons & known - {name for name, _ in lacks}):
        print("note: excluded, but read:", line)
    print(f"{count} versions of operators are read, {len(lacks)} are not, {len(missing)} of them without a reason")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
