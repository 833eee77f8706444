"""Follows a child and its own child call by call, as `strace -f true` does; says how many stops of
them there were, and how many processes."""

import ctypes, os, signal

CONT_TO_CALL, TRACEME, SETOPTIONS = 24, 0, 0x4200
# Calls are told apart from signals, children are followed, and all end with us.
OPTIONS = 1 | 2 | 4 | 8 | 0x100000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
libc.ptrace.restype = ctypes.c_long


def trace(request, pid, value):
    if libc.ptrace(request, pid, 0, value) < 0:
        raise OSError(ctypes.get_errno(), f"request {request}")


child = os.fork()
if child == 0:
    trace(TRACEME, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    os.execvp("sh", ["sh", "-c", "/bin/true; /bin/true"])
os.waitpid(child, 0)
trace(SETOPTIONS, child, OPTIONS)
trace(CONT_TO_CALL, child, 0)
stops, seen = 0, {child}
while True:
    try:
        pid, status = os.waitpid(-1, 0x40000000)
    except ChildProcessError:
        break
    seen.add(pid)
    if os.WIFSTOPPED(status):
        stops += 1
        trace(CONT_TO_CALL, pid, 0)
    elif pid == child and status != 0:
        raise SystemExit(f"it ended with {status}")
print(stops, len(seen))
