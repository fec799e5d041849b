"""What the models of a long list are compiled for, and with how much effort.

What such a list finds are faults of kernels, which are the same ones at every effort; that LLVM optimises them takes most of its time. So the runs of a
test take turns: with --turn K/N it is for each Nth model, from the Kth on (the first is 0), that LLVM does what users get, and the others are
compiled at -O 0. Runs of all turns have each model at both efforts. Where there is one run, a list whose kinds come round by N needs places that do not."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Target/Cpu"))
from levels import variants  # noqa: E402


def add_option(parser, default=(0, 1)):
    parser.add_argument("--turn", type=lambda text: tuple(map(int, text.split("/"))), default=default, metavar="K/N",
                        help="the default effort for each Nth model from the Kth on, -O 0 for the others")


def effort(place, turn):
    """The flags of `lathe compile` for the model at a place of the list."""
    first, every = turn
    return [] if place % every == first else ["-O", "0"]


def target(place):
    """Every set of instructions that this machine runs; for each fourth model those that it does not run, too."""
    return ["--target", "x86_64" if place % 4 == 0 else "x86_64:" + "+".join(variants())]
