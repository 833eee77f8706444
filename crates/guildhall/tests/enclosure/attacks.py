"""What an enclosed program tries, each attempt by its name; prints one JSON object of outcomes:
"ok" for what succeeded, else the name of the error. The facts it needs are its one argument.

Without the enclosure the attempts succeed, so what they do to "server" has to be harmless to the
test: it names a process that nobody needs."""

import ctypes, errno, fcntl, json, mmap, os, platform, pty, resource, socket
import struct, subprocess, sys

facts = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def attempt(action):
    try:
        action()
        return "ok"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


def call(number, *arguments):
    answer = libc.syscall(*[ctypes.c_long(one) for one in (number, *arguments)])
    if answer < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return answer


def connect(host, family=socket.AF_INET, port=facts["everywhere"]):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(5)
        one.connect((host, port))


def bind(host, family=socket.AF_INET):
    """At the port of the server, where that is free: at another address."""
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((host, facts["port"]))
        one.listen()


MSG_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_REPAIR = 0x20000000, 30, 19
MPTCP = 262
target = ("127.0.0.1", facts["port"])


def with_tcp(action):
    # Without a timeout, which would make it one that does not wait.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        action(one)


def fast_open_connect(one):
    one.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
    one.connect(target)
    one.send(b"x")


def send_many(one):
    # struct sockaddr_in, iovec, msghdr and mmsghdr of a 64-bit system.
    address = ctypes.create_string_buffer(
        struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", target[1], b"\x7f\0\0\1"), 16
    )
    data = ctypes.create_string_buffer(b"x", 1)
    parts = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(data), 1))
    message = struct.pack(
        "QI4xQQQQi4x", ctypes.addressof(address), 16, ctypes.addressof(parts), 1, 0, 0, 0
    )
    messages = ctypes.create_string_buffer(message + b"\0" * 8)
    call({"x86_64": 307, "aarch64": 269}[platform.machine()],
         one.fileno(), ctypes.addressof(messages), 1, MSG_FASTOPEN)


def foreign_call():
    """getpid of 32-bit programs: mov eax, 20; int 0x80; ret."""
    if platform.machine() != "x86_64":
        raise OSError(errno.ENOSYS, "there is none")
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xb8\x14\0\0\0\xcd\x80\xc3")
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    # A kernel without them ends the caller.
    child = os.fork()
    if child == 0:
        os._exit(0 if function() > 0 else 1)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError(errno.ENOSYS, "refused")


def limits_of(pid):
    limits = ctypes.create_string_buffer(struct.pack("QQ", 1, 1))
    call({"x86_64": 302, "aarch64": 261}[platform.machine()], pid, resource.RLIMIT_NOFILE,
         ctypes.addressof(limits), 0)


TRACE_ATTACH, TRACE_DETACH = 16, 17


def attach_to(pid):
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    if libc.ptrace(TRACE_ATTACH, pid, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    os.waitpid(pid, 0)
    libc.ptrace(TRACE_DETACH, pid, 0, 0)


def descriptor_of(pid):
    # pidfd_getfd
    os.close(call(438, os.pidfd_open(pid), 0, 0))


def type_into_terminal():
    TIOCSTI = 0x5412
    _, terminal = pty.openpty()
    fcntl.ioctl(terminal, TIOCSTI, b"x")


def set_up_ring():
    parameters = ctypes.create_string_buffer(120)
    os.close(call(425, 1, ctypes.addressof(parameters)))


def socket_call(family, kind, protocol):
    os.close(call({"x86_64": 41, "aarch64": 198}[platform.machine()], family, kind, protocol))


def dumpable():
    libc.prctl(4, 0, 0, 0, 0)
    if libc.prctl(3, 0, 0, 0, 0) == 1:
        raise OSError(errno.EPERM, "it had no effect")


def run(*command):
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode != 0:
        raise OSError(errno.EPERM, ended.stderr)


CONTROL_GROUPS = "/sys/fs/cgroup"
SOL_TCP, TCP_ULP = 6, 31
SOL_IP, IP_LOCAL_PORT_RANGE = 0, 51


def write_control_group():
    # Whoever may write there by their user, the mount lets nobody.
    mounts = [line.split()[4] for line in open("/proc/self/mountinfo")]
    groups = {mount for mount in mounts if (mount + "/").startswith(CONTROL_GROUPS + "/")}
    if all(os.statvfs(mount).f_flag & os.ST_RDONLY for mount in groups):
        raise OSError(errno.EROFS, "all are read-only, or there are none")


def use_open_descriptor():
    for number in range(3, 1024):
        try:
            if os.path.isdir(f"/proc/self/fd/{number}"):
                return
        except OSError:
            pass
    raise OSError(errno.EBADF, "there is none")


def open_terminal():
    path, device = facts["terminal"]
    terminal = os.open(path, os.O_RDWR | os.O_NOCTTY)
    if os.fstat(terminal).st_dev != device:
        raise OSError(errno.ENOENT, "it is another one")


MOVE = """
import os, subprocess, sys, tempfile
folder, name = os.path.split(sys.argv[1])
other = tempfile.mkdtemp()
subprocess.run(["mount", "--bind", other, "/mnt"], check=True)
os.rename(folder, other + "/moved")
is_seen = os.path.exists(f"/mnt/moved/{name}/guildhall.sqlite")
os.rename(other + "/moved", folder)
sys.exit(not is_seen)
"""

data, server = facts["data"], facts["server"]
mine = os.path.join(os.getcwd(), "mine")
open(mine, "w").close()

ATTEMPTS = {
    "connect loopback": lambda: connect("127.0.0.1", port=facts["port"]),
    "connect the usual port": lambda: connect("127.0.0.1", port=4747),
    "connect another loopback": lambda: connect("127.1.2.3"),
    "connect unspecified": lambda: connect("0.0.0.0"),
    "connect v6": lambda: connect("::1", socket.AF_INET6),
    "connect mapped": lambda: connect("::ffff:127.0.0.1", socket.AF_INET6),
    "connect own address": lambda: connect(facts["own"]),
    "bind": lambda: bind("127.1.2.3"),
    "bind v6": lambda: bind("::1", socket.AF_INET6),
    "sendto fast open": lambda: with_tcp(lambda one: one.sendto(b"x", MSG_FASTOPEN, target)),
    "sendmsg fast open": lambda: with_tcp(
        lambda one: one.sendmsg([b"x"], [], MSG_FASTOPEN, target)
    ),
    "sendmmsg fast open": lambda: with_tcp(send_many),
    "fast open connect": lambda: with_tcp(fast_open_connect),
    "repair": lambda: with_tcp(lambda one: one.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)),
    "mptcp": lambda: socket_call(socket.AF_INET, socket.SOCK_STREAM, MPTCP),
    "mptcp high bits": lambda: socket_call(
        socket.AF_INET, socket.SOCK_STREAM, MPTCP | 1 << 32
    ),
    "smc": lambda: socket_call(43, socket.SOCK_STREAM, 0),
    "another protocol of a socket": lambda: with_tcp(
        lambda one: one.setsockopt(SOL_TCP, TCP_ULP, b"smc")
    ),
    "choose the system's port": lambda: with_tcp(
        lambda one: one.setsockopt(SOL_IP, IP_LOCAL_PORT_RANGE, struct.pack("=HH", 4747, 4747))
    ),
    "foreign call": foreign_call,
    "raw socket": lambda: socket_call(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP),
    "packet socket": lambda: socket_call(socket.AF_PACKET, socket.SOCK_RAW, 3 << 8),
    "raw socket in a namespace": lambda: run(
        "unshare", "-Ur", sys.executable, "-c",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 6)",
    ),
    "packet socket in a namespace": lambda: run(
        "unshare", "-Ur", sys.executable, "-c",
        "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    ),
    "io_uring": set_up_ring,
    "type into a terminal": type_into_terminal,
    "signal": lambda: os.kill(server, 0),
    "limits of another": lambda: limits_of(server),
    "attach to another": lambda: attach_to(server),
    "descriptor of another": lambda: descriptor_of(server),
    "dumpable": dumpable,
    "read the database": lambda: open(os.path.join(data, "guildhall.sqlite"), "rb").close(),
    "read the local token": lambda: open(os.path.join(data, "run", "server.json")).close(),
    "write into the folder": lambda: open(os.path.join(data, "guildhall.toml"), "w").close(),
    "link into the folder": lambda: os.link(mine, os.path.join(data, "linked")),
    "rename into the folder": lambda: os.rename(mine, os.path.join(data, "moved")),
    "unmount": lambda: run("umount", data),
    "unmount in a namespace": lambda: run("unshare", "-Urm", "umount", data),
    "bind mount": lambda: run(
        "unshare", "-Urm", "sh", "-c",
        f"mkdir -p seen && mount --bind {os.path.dirname(data)} seen && "
        f"test -e seen/{os.path.basename(data)}/guildhall.sqlite",
    ),
    "move to another mount": lambda: run("unshare", "-Urm", sys.executable, "-c", MOVE, data),
    "terminal of the owner": open_terminal,
    "control group": write_control_group,
    "descriptor of the owner": use_open_descriptor,
    "namespaces of the server": lambda: run("nsenter", "-t", str(server), "-m", "true"),
    "descriptors of the server": lambda: os.readlink(f"/proc/{server}/fd/0"),
    "root of the server": lambda: os.listdir(f"/proc/{server}/root"),
    "memory of the server": lambda: open(f"/proc/{server}/mem", "rb").close(),
    "environment of the server": lambda: open(f"/proc/{server}/environ").read(),
    "abstract socket": lambda: socket.socket(socket.AF_UNIX).connect("\0" + facts["abstract"]),
    # What has to go on working.
    "connect agents": lambda: socket.create_connection(
        ("127.0.0.1", facts["agents"]), 5
    ).close(),
    "listen anywhere else": lambda: socket.create_server(("127.0.0.1", 0)).close(),
    "mount in a namespace": lambda: run(
        "unshare", "-Urm", "sh", "-c", "mkdir -p own && mount -t tmpfs own own"
    ),
    "signal a child": lambda: subprocess.Popen(["sleep", "60"]).kill(),
}

print(json.dumps({name: attempt(action) for name, action in ATTEMPTS.items()}))
