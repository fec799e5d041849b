"""Prints docs/Flow.md: docs/Flow.in.md with each line `@lathe ARGUMENTS | FILTER` replaced by what lathe prints.

usage: make-flow.py LATHE > Flow.md        (LATHE: the compiler, default build/release/bin/lathe)

A filter `'FIRST' to 'LAST'` keeps the lines from the first that contains FIRST to the next that contains LAST. Long lines are cut.
"""
import pathlib
import re
import subprocess
import sys

here = pathlib.Path(__file__).parent
lathe = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else here / "../build/release/bin/lathe").resolve()
WIDTH = 150


def shorten(line):
    return line if len(line) <= WIDTH else line[:WIDTH - 4] + " ..."


def run(arguments):
    done = subprocess.run([lathe, *arguments.split()], cwd=here / "../samples/models", capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"lathe {arguments}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout.splitlines()


def between(lines, first, last):
    """From the first line that contains `first` to the next one that contains `last`."""
    start = next(i for i, line in enumerate(lines) if first in line)
    end = next(i for i in range(start, len(lines)) if last in lines[i])
    return lines[start:end + 1]


def replace(match):
    arguments, _, choice = match[1].partition(" | ")
    lines = run(arguments)
    if choice:
        first, last = re.fullmatch(r"'(.*)' to '(.*)'", choice).groups()
        lines = between(lines, first, last)
    return "\n".join(map(shorten, lines))


text = (here / "Flow.in.md").read_text()
print(re.sub(r"^@lathe (.*)$", replace, text, flags=re.M), end="")
