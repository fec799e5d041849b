"""docs/CommandLine.md names every flag of every command of lathe, and no other.    usage: check-flags.py LATHE CommandLine.md"""
import re
import subprocess
import sys

lathe, page = sys.argv[1:]
documented, section = {}, None
for line in open(page):
    if heading := re.match(r"## lathe (\w+)", line):
        section = documented.setdefault(heading[1], set())
    elif line.startswith("## "):
        section = None
    elif section is not None and line.startswith("| `-"):
        section.update(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", line.split("|")[1]))

wrong = 0
text = subprocess.run([lathe, "--help"], capture_output=True, text=True, check=True).stdout
commands = re.findall(r"^  (\w+) ", text[text.index("Subcommands:"):], re.M)
for command in sorted(set(commands) | set(documented)):
    if command not in commands or command not in documented:
        print(f"{command}: {'not documented' if command in commands else 'no such command'}")
        wrong = 1
        continue
    text = subprocess.run([lathe, command, "--help"], capture_output=True, text=True, check=True).stdout
    options = {flag for line in text.splitlines() if (m := re.match(r"  (-[^ ]+)", line)) for flag in m[1].split(",")} - {"-h", "--help"}
    for flag in sorted(options ^ documented[command]):
        print(f"{command} {flag}: {'not documented' if flag in options else 'no such flag'}")
        wrong = 1
sys.exit(wrong)
