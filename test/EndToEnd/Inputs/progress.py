"""Runs a command with a terminal as its standard error, held up for seconds on the way, and prints what it wrote there.   usage: progress.py COMMAND..."""
import os
import pty
import signal
import subprocess
import sys
import time

own, terminal = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stderr=terminal)
os.close(terminal)
for _ in range(4):
    time.sleep(0.1)
    if process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        process.send_signal(signal.SIGCONT)
text = b""
try:
    while part := os.read(own, 4096):
        text += part
except OSError:  # nobody has the terminal open any more
    pass
print(text.decode().replace("\r", "<return>").replace("\x1b[K", "<clear>"))
sys.exit(process.wait())
