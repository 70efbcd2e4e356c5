#!/usr/bin/python3
"""faultfs SOURCE MOUNT LOG: a read-only FUSE file system that shows SOURCE as sysfs would, with faults on demand.

Like sysfs: every attribute reports 4096 bytes whatever it holds, no content is cached, a kept descriptor re-read at
offset 0 sees the present content, and once its file has gone it answers ENODEV for good.

Orders come as JSON lines on standard input, each answered on standard output once it is in force:
  {"id": 1, "op": "set", "pattern": "sys/**/power1_average", "fault": {"errno": "EBUSY"}}
  {"id": 2, "op": "clear", "pattern": "sys/**/power1_average"}        (without a pattern: everything)
End of input means that whoever mounted us has died: then we unmount ourselves and leave.

LOG gets the line "PATH" for each read at offset 0, which is when a driver would have been asked.
"""

import errno
import json
import os
import re
import stat
import subprocess
import sys
import threading
import time

try:
    from fusepy import FUSE, FuseOSError, Operations  # Debian renamed the module
except ImportError:
    from fuse import FUSE, FuseOSError, Operations

ATTRIBUTE_SIZE = 4096
# How long the kernel may go by what a name led to: a path has a dozen, and each would be asked for at every open. What is
# opened, listed or read is always asked here.
LOOKUPS_HOLD_S = 0.2
CLOCK_MONOTONIC_COARSE = 6  # linux/time.h; the time module does not name it

# Refused before any driver code runs; everything else comes from the driver, so from read().
REFUSED_AT_OPEN = {"EACCES", "EMFILE", "ENFILE", "ENOENT", "ELOOP", "EROFS"}


def outlive_lookups():
    """
    Until the kernel has forgotten where names led. It counts in ticks and rounds up, and on a busy host its ticks come late:
    so this goes by the clock that its ticks drive.
    """
    tick = time.clock_getres(CLOCK_MONOTONIC_COARSE)
    end = time.clock_gettime(CLOCK_MONOTONIC_COARSE) + LOOKUPS_HOLD_S + 3 * tick
    while (left := end - time.clock_gettime(CLOCK_MONOTONIC_COARSE)) > 0:
        time.sleep(max(left, tick))


def glob_to_regex(pattern, subtree):
    """`*` and `?` stay within one path segment, `**` crosses segments, and `**/` also matches no segment at all."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)
    body = "".join(parts.get(token) or re.escape(token) for token in tokens)
    return re.compile(body + ("(?:/.*)?" if subtree else ""), re.DOTALL)


class Rule:
    def __init__(self, pattern, fault):
        self.pattern = pattern
        self.fault = fault
        self.vanish = fault.get("vanish", False)
        self.regex = glob_to_regex(pattern, self.vanish)
        self.left = fault.get("times")
        self.released = threading.Event()
        code = fault.get("errno")
        self.errno = getattr(errno, code) if code else None
        self.when = fault.get("on") or ("open" if code in REFUSED_AT_OPEN else "read")


class Rules:
    """The faults in force; of several that match a path the one set last wins."""

    def __init__(self):
        self.lock = threading.Lock()
        self.rules = []

    def set(self, pattern, fault):
        rule = Rule(pattern, fault)
        self.clear(pattern)
        with self.lock:
            self.rules.append(rule)
        return rule

    def clear(self, pattern=None):
        with self.lock:
            dropped = [rule for rule in self.rules if pattern in (None, rule.pattern)]
            self.rules = [rule for rule in self.rules if rule not in dropped]
        for rule in dropped:
            rule.released.set()

    def vanished(self, path):
        with self.lock:
            return any(rule.vanish and rule.regex.fullmatch(path) for rule in self.rules)

    def take(self, path, when):
        """The rule for this access, counted against its `times`; None where there is none."""
        with self.lock:
            for rule in reversed(self.rules):
                if rule.vanish or rule.when != when or rule.left == 0 or not rule.regex.fullmatch(path):
                    continue
                if rule.left is not None:
                    rule.left -= 1
                return rule
        return None


class Handle:
    def __init__(self, path):
        self.path = path
        self.dead = False


class FaultFs(Operations):
    use_ns = True

    def __init__(self, source, log, on_ready):
        self.source = os.path.realpath(source)
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.on_ready = on_ready
        self.rules = Rules()
        self.lock = threading.Lock()
        self.handles = {}
        self.next_handle = 1

    def order(self, message):
        op = message["op"]
        if op == "set":
            rule = self.rules.set(message["pattern"], message["fault"])
            if rule.vanish:
                self.kill_handles(rule.regex)
                outlive_lookups()
        elif op == "clear":
            self.rules.clear(message.get("pattern"))
        else:
            raise ValueError(f"unknown op {op}")

    def kill_handles(self, regex):
        """A descriptor to a removed device stays dead, also when a device of the same name comes back."""
        with self.lock:
            for handle in self.handles.values():
                if regex.fullmatch(handle.path):
                    handle.dead = True

    def real(self, path):
        return os.path.join(self.source, path) if path else self.source

    def must_exist(self, path):
        path = path.lstrip("/")
        if path and self.rules.vanished(path):
            raise FuseOSError(errno.ENOENT)
        return path

    def refuse_at_open(self, path):
        rule = self.rules.take(path, "open")
        if rule:
            self.suffer(rule)

    # What FUSE calls.

    def init(self, path):
        self.on_ready()

    def getattr(self, path, fh=None):
        status = os.lstat(self.real(self.must_exist(path)))
        keys = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_rdev")
        found = {key: getattr(status, key) for key in keys}
        for key in ("st_atime", "st_mtime", "st_ctime"):
            found[key] = getattr(status, key + "_ns")
        if stat.S_ISREG(status.st_mode):
            found["st_size"] = ATTRIBUTE_SIZE
        return found

    def readlink(self, path):
        real = self.real(self.must_exist(path))
        target = os.readlink(real)
        # An absolute link inside the source would leave the mount, and with it the faults.
        if target == self.source or target.startswith(self.source + "/"):
            return os.path.relpath(target, os.path.dirname(real))
        return target

    def opendir(self, path):
        path = self.must_exist(path)
        self.refuse_at_open(path)
        return 0

    def readdir(self, path, fh):
        path = self.must_exist(path)
        yield from (".", "..")
        for name in os.listdir(self.real(path)):
            if not self.rules.vanished(os.path.join(path, name)):
                yield name

    def open(self, path, flags):
        path = self.must_exist(path)
        os.lstat(self.real(path))
        self.refuse_at_open(path)
        with self.lock:
            number = self.next_handle
            self.next_handle += 1
            self.handles[number] = Handle(path)
        return number

    def release(self, path, fh):
        with self.lock:
            self.handles.pop(fh, None)
        return 0

    def read(self, path, size, offset, fh):
        handle = self.handles[fh]
        if handle.dead:
            raise FuseOSError(errno.ENODEV)
        if offset == 0:
            os.write(self.log, handle.path.encode() + b"\n")
            rule = self.rules.take(handle.path, "read")
            if rule and self.suffer(rule):
                return b""
        return self.content(handle, size, offset)

    def suffer(self, rule):
        """Waits or raises as the rule says; True where the read is to end empty."""
        wait = rule.fault.get("hangSeconds", rule.fault.get("delayMs", 0) / 1000)
        if wait:
            rule.released.wait(wait)
        if rule.errno:
            raise FuseOSError(rule.errno)
        return bool(rule.fault.get("empty"))

    def content(self, handle, size, offset):
        if handle.dead:
            raise FuseOSError(errno.ENODEV)
        try:
            with open(self.real(handle.path), "rb", buffering=0) as file:
                return os.pread(file.fileno(), size, offset)
        except (FileNotFoundError, NotADirectoryError):
            handle.dead = True
            raise FuseOSError(errno.ENODEV) from None


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def obey(filesystem):
    for line in sys.stdin:
        message = json.loads(line)
        try:
            filesystem.order(message)
            say({"id": message["id"]})
        except Exception as error:  # the asker is told, whatever it is
            say({"id": message["id"], "error": f"{type(error).__name__}: {error}"})


def leave(filesystem, mount, log):
    filesystem.rules.clear()
    subprocess.run(["fusermount3", "-uz", mount], stderr=subprocess.DEVNULL, check=False)
    # The mount point last: once it has gone, nothing of ours is left.
    for remove, path in ((os.unlink, log), (os.rmdir, mount)):
        try:
            remove(path)
        except OSError:
            pass
    # Not sys.exit: threads that still hold a request would keep the process.
    os._exit(0)


def main():
    source, mount, log = sys.argv[1:]
    filesystem = FaultFs(source, log, lambda: say({"ready": True}))

    def control():
        try:
            obey(filesystem)
        finally:
            leave(filesystem, mount, log)

    threading.Thread(target=control, daemon=True).start()
    # Other users may look only where root mounts; an ordinary user would need a line in /etc/fuse.conf for that.
    everyone = {"allow_other": True} if os.geteuid() == 0 else {}
    FUSE(
        filesystem,
        mount,
        foreground=True,
        nothreads=False,
        ro=True,
        direct_io=True,
        default_permissions=True,
        entry_timeout=LOOKUPS_HOLD_S,
        negative_timeout=0,
        attr_timeout=LOOKUPS_HOLD_S,
        fsname="faultfs",
        **everyone,
    )
    # Unmounted by someone else: the control thread ends us with its input.
    time.sleep(5)
    os._exit(0)


if __name__ == "__main__":
    main()
