"""BYTES COMMAND...: runs the command with so much memory."""
import os
import resource
import sys

resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[1]),) * 2)
os.execvp(sys.argv[2], sys.argv[2:])
