"""Checks the source tree against the rules that keep it readable. Prints every breach; exit code 1 when there is one.

usage: check.py (includes | sizes | banners | passes) ROOT
"""
import pathlib
import re
import sys

# Who may include whom: a folder may include itself, what it names here, and nothing else. What is not in the table breaks the rule.
BASE = ["Support", "Shape", "Dialect"]
MAY_INCLUDE = {
    "Support": [],
    "Shape": ["Support"],
    "Dialect": ["Support", "Shape"],
    "Import": BASE,
    "Optimize": BASE,
    "Fuse": BASE,
    "Lower": BASE,
    "Interpret": BASE,
    # Plain C, usable without the compiler: the tables of an artifact are all that the two share.
    "Runtime": ["Artifact/Format.h"],
    "Schedule": BASE + ["Lower"],
    "Target": BASE + ["Lower", "Schedule", "Artifact/Format.h"],
    "Artifact": BASE + ["Lower", "Target", "Runtime"],
    "Pipeline": BASE + ["Import", "Optimize", "Fuse", "Lower", "Schedule", "Target", "Artifact", "Runtime"],
    "tools": BASE + ["Import", "Optimize", "Fuse", "Lower", "Schedule", "Interpret", "Target", "Artifact", "Runtime", "Pipeline"],
}
# Files that hold to stricter rules than their folder.
STRICT = {"include/lathe/Artifact/Format.h": []}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
MAX_LINES = 800
SOURCES = {".h", ".c", ".cpp", ".td", ".S"}


def sources(root):
    for top in ("include/lathe", "lib", "tools"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SOURCES:
                yield path.relative_to(root)


def folder(path):
    parts = path.parts
    return "tools" if parts[0] == "tools" else parts[2] if parts[0] == "include" else parts[1]


def project_header(root, path, name):
    """The included file as Folder/.../Name.h, None for a header that is not the project's."""
    if name.startswith("lathe/"):
        return name[len("lathe/"):]
    local = (root / path.parent / name).resolve()
    for top in ("lib", "include/lathe"):
        base = (root / top).resolve()
        for candidate in (local, base / name):
            if base in candidate.parents and candidate.exists():
                return str(candidate.relative_to(base))
    return None


def check_includes(root):
    for path in sources(root):
        own = folder(path)
        if own not in MAY_INCLUDE:
            yield f"{path}: folder {own} has no place in the dependency rule (test/Layering/check.py)"
            continue
        allowed = STRICT.get(str(path), MAY_INCLUDE[own])
        plain = own == "Runtime" or str(path) in STRICT
        for name in INCLUDE.findall((root / path).read_text()):
            if plain and re.match(r"(llvm|mlir|lld)/", name):
                yield f"{path}: includes {name}, but must know no LLVM"
            inner = project_header(root, path, name)
            if inner is None:
                continue
            if inner.split("/")[0] == own or any(inner == a or inner.startswith(a + "/") for a in allowed):
                continue
            yield f"{path}: includes {name}; {own} may include only {', '.join(allowed) or 'itself'}"


def check_sizes(root):
    for top in ("include", "lib", "tools", "test", "samples", "scripts"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SOURCES | {".py", ".txt", ".cmake"} and path.is_file():
                lines = path.read_text(errors="replace").count("\n")
                if lines > MAX_LINES:
                    yield f"{path.relative_to(root)}: {lines} lines, more than {MAX_LINES}: split it"


def check_banners(root):
    for path in sources(root):
        text = (root / path).read_text()
        if not re.match(r"(//|/\*|#|;|\s)*===-+ \S", text):
            yield f"{path}: does not begin with a banner `//===- {path.name} - what it is -===//`"
        elif path.suffix in {".h", ".td", ".cpp", ".c"} and path.name not in text.split("\n", 1)[0]:
            yield f"{path}: its banner names another file: {text.splitlines()[0]}"


def check_passes(root):
    """One pass, one spelling: FuseLoops in Passes.td, FuseLoops.cpp, --lathe-fuse-loops, test/<Folder>/fuse-loops.mlir."""
    for td in sorted((root / "include/lathe").rglob("Passes.td")):
        where = td.relative_to(root / "include/lathe").parent
        for name, flag in re.findall(r'^def (\w+)\s*:\s*Pass<\s*"([^"]+)"', td.read_text(), re.M):
            dashed = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
            if flag != "lathe-" + dashed:
                yield f"{td.relative_to(root)}: pass {name} is spelled --{flag}, expected --lathe-{dashed}"
            if not list((root / "lib" / where).rglob(f"{name}.cpp")):
                yield f"{td.relative_to(root)}: pass {name} has no file lib/{where}/{name}.cpp"
            tests = list((root / "test" / where).rglob(f"{dashed}.mlir"))
            if not tests:
                yield f"{td.relative_to(root)}: pass {name} has no test test/{where}/{dashed}.mlir"
            for test in tests:
                if f"-{flag}" not in test.read_text():
                    yield f"{test.relative_to(root)}: never runs --{flag}"


def main():
    checks = {"includes": check_includes, "sizes": check_sizes, "banners": check_banners, "passes": check_passes}
    breaches = list(checks[sys.argv[1]](pathlib.Path(sys.argv[2])))
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


sys.exit(main())
