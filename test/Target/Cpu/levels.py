"""The variants of code that this machine runs, the best one last."""


def variants():
    flags = open('/proc/cpuinfo').read()
    found = ['baseline']
    if ' avx2 ' in flags and ' fma ' in flags and ' f16c ' in flags:
        found.append('avx2')
    if all(f' {f} ' in flags for f in ('avx512f', 'avx512bw', 'avx512dq', 'avx512vl')):
        found.append('avx512')
    return found
