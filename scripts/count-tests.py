"""Adds up what scripts/test has run: every case of every unit test and every lit test is one.

usage: count-tests.py RESULTS, where ctest left ctest.xml, the unit tests gtest/*.json, and lit lit.json. The last line printed is
`N passed, N failed`; the exit code is 0 when none failed and something passed.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def unit_tests(results):
    """Yields (name, 'pass' | 'fail' | 'skip') for each case; a program that failed as a whole is a failed case of its own."""
    table = results / "ctest.xml"
    if not table.exists():
        yield "ctest wrote no results", "fail"
        return
    cases = {}
    for path in sorted((results / "gtest").glob("*.json")):
        try:
            suites = json.loads(path.read_text()).get("testsuites", [])
        except ValueError:  # cut off by a crash; ctest's table has it
            continue
        cases[path.stem] = [(f"{path.stem}.{suite['name']}.{case['name']}",
                             "fail" if case.get("failures") else
                             "skip" if case["result"] != "COMPLETED" or case["status"] != "RUN" else "pass")
                            for suite in suites for case in suite["testsuite"]]
    for test in ElementTree.parse(table).getroot().iter("testcase"):
        name, passed = test.get("name"), test.get("status") == "run"
        own = cases.get(name, [])
        yield from own
        if not own or (not passed and not any(state == "fail" for _, state in own)):
            yield name, "pass" if passed else "fail"


def lit_tests(results):
    path = results / "lit.json"
    if not path.exists():
        yield "lit wrote no results", "fail"
        return
    states = {"PASS": "pass", "XFAIL": "pass", "FLAKYPASS": "pass", "UNSUPPORTED": "skip", "SKIPPED": "skip", "EXCLUDED": "skip"}
    for test in json.loads(path.read_text())["tests"]:
        yield test["name"], states.get(test["code"], "fail")


def main():
    results = pathlib.Path(sys.argv[1])
    tests = list(unit_tests(results)) + list(lit_tests(results))
    count = {state: [name for name, s in tests if s == state] for state in ("pass", "fail", "skip")}
    for name in count["fail"]:
        print("FAILED", name)
    if count["skip"]:
        print(f"{len(count['skip'])} skipped (this machine lacks what they need):")
        for name in count["skip"]:
            print("  ", name)
    print(f"{len(count['pass'])} passed, {len(count['fail'])} failed")
    return 1 if count["fail"] or not count["pass"] else 0


sys.exit(main())
