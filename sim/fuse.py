#!/usr/bin/python3
"""fuse.py DIR MOUNT SOCKET: shows DIR/sys and DIR/proc at MOUNT as the kernel would, and asks SOCKET about every write.

It knows nothing of GPUs. Content and listings come from DIR; whether a write succeeds, and with which errno it fails, says whoever
serves SOCKET, and so do the faults in force, the modes of files, and which reads to ask about first.
As in sysfs an attribute is 4096 bytes long whatever it holds, no content is cached, a write is handed over whole wherever it was
aimed, cutting a file short does nothing, and a descriptor whose file has gone answers ENODEV for good.

One JSON document a line. On connections for accesses: {"op": "write", "path", "data" (base64)} or {"op": "read", "path"}, answered
by {"ok": true} or {"ok": false, "errno"}. On the first connection: {"op": "attach", "dir"}, then for each
{"order", "faults", "asked", "modes"} that comes the answer {"op": "done", "order"}; its end ends us.
"""

import base64
import errno
import json
import os
import queue
import re
import socket
import stat
import subprocess
import sys
import threading
import time

try:
    from fusepy import FUSE, FuseOSError, Operations  # Debian renamed the module
except ImportError:
    try:
        from fuse import FUSE, FuseOSError, Operations
    except ImportError:
        sys.exit("fuse.py: python3-fusepy is not installed")

ATTRIBUTE_SIZE = 4096
# How long the kernel may go by what a name led to: a path has a dozen, and each would be asked for at every open. What is
# opened, listed or read is always asked here.
LOOKUPS_HOLD_S = 0.2
CLOCK_MONOTONIC_COARSE = 6  # linux/time.h; the time module does not name it
SHOWN = ("sys", "proc")


def outlive_lookups():
    """
    Until the kernel has forgotten where names led. It counts in ticks and rounds up, and on a busy host its ticks come late:
    so this goes by the clock that its ticks drive.
    """
    tick = time.clock_getres(CLOCK_MONOTONIC_COARSE)
    end = time.clock_gettime(CLOCK_MONOTONIC_COARSE) + LOOKUPS_HOLD_S + 3 * tick
    while (left := end - time.clock_gettime(CLOCK_MONOTONIC_COARSE)) > 0:
        time.sleep(max(left, tick))


class Line:
    """A connection on which one question at a time is asked."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def say(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def hear(self):
        text = self.file.readline()
        if not text:
            raise ConnectionError("the relay is gone")
        return json.loads(text)


class Server:
    """Connections are kept and used again: the threads of FUSE come and go."""

    def __init__(self, path):
        self.path = path
        self.idle = queue.LifoQueue()

    def ask(self, message):
        """Returns where the answer is yes, raises its errno where it is not."""
        try:
            try:
                line = self.idle.get_nowait()
            except queue.Empty:
                line = Line(self.path)
            line.say(message)
            answer = line.hear()
        except (OSError, ValueError):
            raise FuseOSError(errno.EIO) from None
        self.idle.put(line)
        if not answer["ok"]:
            raise FuseOSError(getattr(errno, answer["errno"], errno.EIO))


class Fault:
    def __init__(self, order):
        self.key = order["key"]
        self.regex = re.compile(order["match"], re.DOTALL)
        self.order = order
        self.cleared = threading.Event()


class State:
    """What the server last told us to go by."""

    def __init__(self):
        self.faults = []
        self.asked = []
        self.modes = {}

    def take(self, message):
        """True where something vanishes that was there."""
        known = {fault.key: fault for fault in self.faults}
        vanishes = any("vanish" in order and order["key"] not in known for order in message["faults"])
        self.faults = [known.pop(order["key"], None) or Fault(order) for order in message["faults"]]
        self.asked = [re.compile(match, re.DOTALL) for match in message["asked"]]
        self.modes = message["modes"]
        for fault in known.values():
            fault.cleared.set()
        return vanishes

    def fault(self, path, key):
        """The fault set last that has something to say on `key`."""
        for fault in reversed(self.faults):
            if key in fault.order and fault.regex.fullmatch(path):
                return fault
        return None

    def errno(self, path, key):
        fault = self.fault(path, key)
        return getattr(errno, fault.order[key], errno.EIO) if fault else None

    def vanished(self, path):
        return self.fault(path, "vanish") is not None


class Handle:
    def __init__(self, path):
        self.path = path
        self.dead = False


class Mirror(Operations):
    use_ns = True

    def __init__(self, source, server, state, on_ready):
        self.source = source
        self.server = server
        self.state = state
        self.on_ready = on_ready
        self.lock = threading.Lock()
        self.handles = {}
        self.next_handle = 1

    def take(self, message):
        vanishes = self.state.take(message)
        with self.lock:
            for handle in self.handles.values():
                if self.state.vanished(handle.path):
                    handle.dead = True
        if vanishes:
            outlive_lookups()

    def real(self, path):
        return os.path.join(self.source, path) if path else self.source

    def find(self, path):
        path = path.lstrip("/")
        if path and (path.split("/", 1)[0] not in SHOWN or self.state.vanished(path)):
            raise FuseOSError(errno.ENOENT)
        return path

    def mode(self, path, status):
        if not stat.S_ISREG(status.st_mode):
            return status.st_mode
        return stat.S_IFREG | self.state.modes.get(path, stat.S_IMODE(status.st_mode) & 0o444)

    def must_be_writable(self, path):
        """Root too: sysfs looks at the mode alone."""
        if not self.mode(path, os.lstat(self.real(path))) & 0o222:
            raise FuseOSError(errno.EACCES)

    def handle(self, fh):
        with self.lock:
            handle = self.handles[fh]
        if handle.dead:
            raise FuseOSError(errno.ENODEV)
        return handle

    # What FUSE calls.

    def init(self, path):
        self.on_ready()

    def getattr(self, path, fh=None):
        path = self.find(path)
        status = os.lstat(self.real(path))
        found = {key: getattr(status, key) for key in ("st_nlink", "st_uid", "st_gid", "st_size", "st_rdev")}
        for key in ("st_atime", "st_mtime", "st_ctime"):
            found[key] = getattr(status, key + "_ns")
        found["st_mode"] = self.mode(path, status)
        if stat.S_ISREG(status.st_mode):
            found["st_size"] = ATTRIBUTE_SIZE if path.startswith("sys/") else 0
        return found

    def readlink(self, path):
        return os.readlink(self.real(self.find(path)))

    def readdir(self, path, fh):
        path = self.find(path)
        yield from (".", "..")
        for name in SHOWN if not path else os.listdir(self.real(path)):
            if not self.state.vanished(os.path.join(path, name)):
                yield name

    def open(self, path, flags):
        path = self.find(path)
        os.lstat(self.real(path))
        writing = flags & os.O_ACCMODE != os.O_RDONLY
        code = self.state.errno(path, "openWrite" if writing else "openRead")
        if code:
            raise FuseOSError(code)
        if writing:
            self.must_be_writable(path)
        with self.lock:
            number = self.next_handle
            self.next_handle += 1
            self.handles[number] = Handle(path)
        return number

    def release(self, path, fh):
        with self.lock:
            self.handles.pop(fh, None)
        return 0

    def truncate(self, path, length, fh=None):
        self.must_be_writable(self.find(path))
        return 0

    def create(self, path, mode, fi=None):
        raise FuseOSError(errno.EACCES)

    def utimens(self, path, times=None):
        return 0

    def write(self, path, data, offset, fh):
        handle = self.handle(fh)
        self.server.ask({"op": "write", "path": handle.path, "data": base64.b64encode(data).decode()})
        return len(data)

    def read(self, path, size, offset, fh):
        handle = self.handle(fh)
        # Where the driver would be asked; what follows is the rest of what it said.
        if offset == 0:
            self.before_read(handle.path)
        try:
            descriptor = os.open(self.real(handle.path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            handle.dead = True
            raise FuseOSError(errno.ENODEV) from None
        try:
            return os.pread(descriptor, size, offset)
        finally:
            os.close(descriptor)

    def before_read(self, path):
        late = self.state.fault(path, "delay")
        if late:
            late.cleared.wait(late.order["delay"])
        code = self.state.errno(path, "read")
        if code:
            raise FuseOSError(code)
        if any(regex.fullmatch(path) for regex in self.state.asked):
            self.server.ask({"op": "read", "path": path})


def check_mount(source, mount):
    """A mount point that a killed predecessor left is taken over; a directory that holds anything is not ours."""
    try:
        names = os.listdir(mount)
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            sys.exit(f"fuse.py: {mount}: {error.strerror}")
        unmount(mount)
        names = os.listdir(mount)
    if names:
        sys.exit(f"fuse.py: {mount} is not empty")
    real = os.path.realpath(mount)
    if os.path.commonpath([real, source]) in (real, source):
        sys.exit(f"fuse.py: {mount} and {source} lie within each other")


def unmount(mount):
    subprocess.run(["fusermount3", "-uz", mount], stderr=subprocess.DEVNULL, check=False)


def obey(mirror, line, mount):
    try:
        while True:
            message = line.hear()
            mirror.take(message)
            line.say({"op": "done", "order": message["order"]})
    except (OSError, ValueError):
        pass
    finally:
        for fault in mirror.state.faults:
            fault.cleared.set()
        unmount(mount)
        # Not sys.exit: threads that still hold a request would keep the process.
        os._exit(0)


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: fuse.py DIR MOUNT SOCKET")
    source, mount, path = os.path.realpath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    check_mount(source, mount)
    try:
        line = Line(path)
        line.say({"op": "attach", "dir": source})
        first = line.hear()
    except OSError as error:
        sys.exit(f"fuse.py: {path}: {error}")
    if "error" in first:
        sys.exit(f"fuse.py: {first['error']}")

    def ready():
        line.say({"op": "ready"})
        print(json.dumps({"ready": True}), flush=True)
        threading.Thread(target=obey, args=(mirror, line, mount), daemon=True).start()

    state = State()
    state.take(first)
    line.say({"op": "done", "order": first["order"]})
    mirror = Mirror(source, Server(path), state, ready)
    # Other users may look only where root mounts; an ordinary user would need a line in /etc/fuse.conf for that.
    everyone = {"allow_other": True} if os.geteuid() == 0 else {}
    FUSE(
        mirror,
        mount,
        foreground=True,
        nothreads=False,
        direct_io=True,
        default_permissions=True,
        entry_timeout=LOOKUPS_HOLD_S,
        negative_timeout=0,
        attr_timeout=LOOKUPS_HOLD_S,
        fsname="nightshift",
        **everyone,
    )
    # Unmounted by somebody else, or by a signal: the other threads have nothing to wait for.
    time.sleep(0.2)
    os._exit(0)


if __name__ == "__main__":
    main()
