"""Lesson 5: exports the decoder twice, for a prompt of any length and for one token.    usage: export.py FOLDER [small]

Writes FOLDER/prefill.pt2 and FOLDER/decode.pt2, and FOLDER/expected.txt: what PyTorch makes of the prompt. `small`: without what a
compiler does not read, compressed (samples/models/tiny_decoder has them so).
"""
import json
import sys
import zipfile

import torch
from decoder import LENGTH, Decoder
from torch.export import Dim

PROMPT = [3, 14, 15, 9, 26, 5]
torch.manual_seed(0)
decoder = Decoder().eval()
for p in decoder.parameters():  # wide enough that the tokens differ
    p.data.mul_(2)
folder = sys.argv[1]


def shrink(path):
    members = {i.filename: zipfile.ZipFile(path).read(i) for i in zipfile.ZipFile(path).infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members.items():
            if name.endswith("models/model.json"):
                program = json.loads(data)
                for node in program["graph_module"]["graph"]["nodes"]:
                    node["metadata"] = {}
                data = json.dumps(program, separators=(",", ":"))
            if "sample_inputs" not in name:
                out.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def export(count, open_length, path):
    inputs = torch.tensor([PROMPT[:count]]), torch.arange(count)
    n = Dim("n", min=1, max=LENGTH)
    sizes = {"tokens": {1: n}, "positions": {0: n}} if open_length else None
    torch.export.save(torch.export.export(decoder, inputs, dynamic_shapes=sizes), path)
    if sys.argv[2:] == ["small"]:
        shrink(path)


with torch.no_grad():
    export(len(PROMPT), True, f"{folder}/prefill.pt2")
    export(1, False, f"{folder}/decode.pt2")
    found, logits = [], decoder(torch.tensor([PROMPT]), torch.arange(len(PROMPT)))
    while True:
        found.append(int(logits.argmax()))
        if len(PROMPT) + len(found) > LENGTH:
            break
        logits = decoder(torch.tensor([[found[-1]]]), torch.tensor([len(PROMPT) + len(found) - 1]))
print(*PROMPT, file=open(f"{folder}/prompt.txt", "w"))
print(*found, file=open(f"{folder}/expected.txt", "w"))
