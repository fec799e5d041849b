"""What a report says of its artifact. usage: report.py REPORT.json INSPECT.json"""
import json
import sys

report, artifact = (json.load(open(path)) for path in sys.argv[1:])
kernels = [k for target in report for k in target["kernels"]]
print("targets:", *[target["target"] for target in report])
print("functions:", *sorted({k["function"] for k in kernels}))
print("kernels of the artifact:", [(k["name"], k["class"], k["nodes"]) for k in kernels] ==
      [(k["name"], k["class"], k["nodes"]) for k in artifact["kernels"]])
