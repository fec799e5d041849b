"""The smallest program that still fails."""
import copy
import re

from .program import Program, Statement


def uses(text, name):
    return re.search(rf"\b{name}\b", text) is not None


def without_unused(program):
    """Without statements, inputs and weights that no result needs. What only writes stays with what it writes to."""
    text = " ".join([s.text for s in program.statements] + program.results)
    for table in (program.inputs, program.states):
        for name in [n for n in table if not uses(text, n)]:
            del table[name]
    return program


def smaller(program):
    """Programs that are smaller by one thing, the largest steps first."""
    for i in range(len(program.results) - 1, -1, -1):
        if len(program.results) > 1:
            yield replaced(program, results=program.results[:i] + program.results[i + 1:])
    if program.steps > 1:
        yield replaced(program, steps=program.steps - 1)
    for i in range(len(program.statements) - 1, -1, -1):
        rest = program.statements[:i] + program.statements[i + 1:]
        defined = program.statements[i].defines
        used = " ".join([s.text for s in rest] + program.results)
        if not any(uses(used, n) for n in defined):
            yield replaced(program, statements=rest)
        else:
            yield from cut(program, i, rest)


def replaced(program, **changes):
    new = copy.copy(program)
    new.inputs, new.states = dict(program.inputs), dict(program.states)
    for name, value in changes.items():
        setattr(new, name, value)
    return without_unused(new)


def cut(program, i, rest):
    """A statement's values as inputs."""
    defined = program.statements[i].defines
    before = copy.copy(program)
    before.statements, before.results, before.steps = program.statements[:i + 1], list(defined), 1
    try:
        values = before.run()[0]
    except Exception:
        return
    if len(values) != len(defined) or any(v.is_complex() for v in values):
        return
    yield replaced(program, statements=rest, inputs=program.inputs | dict(zip(defined, [v.contiguous() for v in values])))
    # or as the module's
    kept = replaced(program, statements=[s if s is not program.statements[i] else Statement(f"{', '.join(defined)}{',' * (len(defined) > 1)} = "
                    + ", ".join(f"self.c_{n} * 1" for n in defined), defined) for s in program.statements],
                    states={**program.states, **{f"c_{n}": v for n, v in zip(defined, values)}})
    if not re.search(r"self\.c_", program.statements[i].text):
        yield kept


def reduced(program: Program, fails, tries=150):
    progress = True
    while progress and tries > 0:
        progress = False
        for candidate in smaller(program):
            tries -= 1
            if tries <= 0:
                break
            if fails(candidate):
                program, progress = candidate, True
                break
    return program
