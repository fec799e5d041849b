"""How a comparison of many results ends."""


def verdict(right, what, faults, judge):
    """Prints the faults and the numbers; the exit code. Nothing compared is a failure."""
    for fault in faults:
        print(fault)
    print(f"{right} {what} agree with {judge}, {len(faults)} do not")
    return 1 if faults or not right else 0
