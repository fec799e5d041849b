"""Prints docs/Flow.md: docs/Flow.in.md with each line `@lathe ARGUMENTS | FILTER` replaced by what lathe prints.

usage: make-flow.py LATHE > Flow.md        (LATHE: the compiler, default build/release/bin/lathe)

With `| X then A ... B` only a part of what is printed is kept (see pick). Long lines are folded or cut.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).parent
lathe = shutil.which(sys.argv[1]) if len(sys.argv) > 1 else here / "../build/release/bin/lathe"
WIDTH = 150


def fold(line):
    """Long ops on several lines, types that repeat the obvious cut short."""
    line = re.sub(r" (ins\(|outs\(|attributes \{|unfused = )", r"\n        \1", line) if len(line) > WIDTH else line
    return "\n".join(part if len(part) <= WIDTH else part[:WIDTH - 4] + " ..." for part in line.split("\n"))


def run(arguments, folder):
    done = subprocess.run([lathe, *arguments.split()], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"lathe {arguments}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout.rstrip("\n").splitlines()


def abbreviate(lines):
    """The type that most values have gets a name, as MLIR's own aliases do."""
    kind = 'tensor<?x?x32xf32, #lathe.dims<"batch", "seq", "32">>'
    if not any(kind in line for line in lines):
        return lines
    return ["!x = " + kind] + [line.replace(kind, "!x") for line in lines]


def pick(lines, choice):
    """`A ... B`: from the line that matches A to the next that matches B; with `X then` before, only what follows X."""
    after, _, choice = choice.rpartition(" then ")
    first, last = choice.split(" ... ")
    start = next(i for i, line in enumerate(lines) if after in line) if after else 0
    start = next(i for i in range(start, len(lines)) if re.search(first, lines[i]))
    end = next(i for i in range(start + 1, len(lines)) if re.search(last, lines[i]))
    return lines[start:end + 1]


def main():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(here / "../samples/models/tiny_block.onnx", folder)
        run("compile tiny_block.onnx -o tiny_block.so", folder)

        def replace(match):
            arguments, _, choice = match[1].partition(" | ")
            lines = run(arguments, folder)
            return "\n".join(fold(line) for line in abbreviate(pick(lines, choice) if choice else lines))

        print(re.sub(r"^@lathe (.*)$", replace, (here / "Flow.in.md").read_text(), flags=re.M), end="")


main()
