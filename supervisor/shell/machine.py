"""Programs for the machine, its services and its users, and for clouds. Pure."""

import re
from collections.abc import Iterator

from ..danger.paths import UNKNOWN
from ..danger.risks import Risk
from ..patterns import lazy_pattern
from .calls import Call, Finding, Handler, Scope, options, reads
from .code import script_risks
from .subcommands import by_table

# ---------------------------------------------------------------- clouds

_CLOUD_READS = lazy_pattern(
    r"(?:describe|list|get|ls|head|tail|filter|wait|show|search|lookup|help|version|info|read)\b"
)
_CLOUD_SECRETS = lazy_pattern(
    r"secret|get-parameter|token|password|credential|kms|decrypt|access-key|get-authorization|keys\b|login"
)
_CLOUD_DELETES = lazy_pattern(r"(?:delete|remove|rm|rb|terminate|destroy|purge|deregister|drop)\b")


def _cloud(call: Call, scope: Scope) -> Iterator[Finding]:
    """aws, gcloud, az and their like: reading is harmless, secrets, changes and deleting are not."""
    words = [each for each in call.arguments if not each.text.startswith("-")]
    text = " ".join(each.text for each in words[:4])
    if not words or any(each.text in ("--version", "--help") for each in call.arguments[:1]):
        return
    if _CLOUD_SECRETS.search(text):
        yield Risk("credentials", f"handles secrets of the cloud ({call.program} {text})")
    elif any(_CLOUD_DELETES.match(each.text) for each in words[:4]):
        yield Risk("delete", f"deletes in the cloud ({call.program} {text})")
    elif UNKNOWN in text or not any(_CLOUD_READS.match(each.text) for each in words[:4]):
        yield Risk("system", f"changes something in the cloud ({call.program} {text})")


# ---------------------------------------------------------------- the machine


def _risk(category: str, words: str) -> Handler:
    def handler(call: Call, scope: Scope) -> Iterator[Finding]:
        if not any(each.text in ("--version", "--help") for each in call.arguments[:1]):
            yield Risk(category, words)

    return handler


def _kill(call: Call, scope: Scope) -> Iterator[Finding]:
    words = [each.text for each in call.arguments if not each.text.startswith("-")]
    own_jobs = bool(words) and all(re.fullmatch(r"%\d+", each) for each in words)
    if not own_jobs and not any(each.text in ("-l", "-L", "-0") for each in call.arguments[:1]):
        yield Risk("system", f"ends processes with {call.program}")


def _crontab(call: Call, scope: Scope) -> Iterator[Finding]:
    if [each.text for each in call.arguments] != ["-l"]:
        yield Risk("config", "changes timed jobs")


def _service(call: Call, scope: Scope) -> Iterator[Finding]:
    words = [each.text for each in call.arguments]
    if words[1:] != ["status"] and words != ["--status-all"]:
        yield Risk("system", "controls services")


def _mounts(call: Call, scope: Scope) -> Iterator[Finding]:
    if call.arguments:
        yield Risk("system", f"changes what disks are in use with {call.program}")


def _history(call: Call, scope: Scope) -> Iterator[Finding]:
    if any(re.match(r"-\w*[cdarnwp]", each.text) for each in call.arguments):
        yield Risk("delete", "changes the history of commands")


def _firewall(call: Call, scope: Scope) -> Iterator[Finding]:
    if [each.text for each in call.arguments][:1] not in (["-L"], ["-S"], ["status"], ["list"]):
        yield Risk("config", f"changes the firewall with {call.program}")


def _sysctl(call: Call, scope: Scope) -> Iterator[Finding]:
    if any("=" in each.text or each.text in ("-w", "-p") for each in call.arguments):
        yield Risk("config", "changes settings of the kernel")


def _journal(call: Call, scope: Scope) -> Iterator[Finding]:
    if any(each.text.startswith(("--vacuum", "--rotate", "-C", "-c")) for each in call.arguments):
        yield Risk("delete", "deletes logs of the machine")


def _hostname(call: Call, scope: Scope) -> Iterator[Finding]:
    if any(not each.text.startswith("-") for each in call.arguments):
        yield Risk("config", f"sets what {call.program} shows")


def _java(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "", ("-jar", "-cp", "-classpath", "--class-path"))
    for path in given.of("-jar"):
        yield from script_risks(scope, path, "program")


_LINKS = lazy_pattern(r"add|del|delete|set|flush|change|replace|append|up|down|exec|netns")


def _links(call: Call, scope: Scope) -> Iterator[Finding]:
    """ip and ifconfig: asking is harmless."""
    words = [each.text for each in call.arguments]
    if any(_LINKS.fullmatch(each) or UNKNOWN in each for each in words):
        yield Risk("config", f"changes how the machine is connected with {call.program}")


def _terminals(call: Call, scope: Scope) -> Iterator[Finding]:
    asking = ("ls", "list-sessions", "-ls", "-list", "-V", "-v", "--version", "has-session")
    if not any(each.text in asking for each in call.arguments[:1]):
        yield Risk("unclear", f"runs commands in a terminal of their own with {call.program}")


def _kubectl(call: Call, scope: Scope) -> Iterator[Finding]:
    yield from by_table(call, scope)
    words = [each.text for each in call.arguments]
    if any(re.match(r"secrets?(?:$|[/.,])|--raw$", each) for each in words):
        yield Risk("credentials", "reads secrets of a cluster")


def _keys(call: Call, scope: Scope) -> Iterator[Finding]:
    yield Risk("credentials", f"handles keys or passwords with {call.program}")
    for each in call.arguments:
        yield from reads(scope, each)


MACHINE: dict[str, Handler] = {
    **dict.fromkeys(("aws", "gcloud", "az", "gsutil", "bq", "s3cmd", "doctl", "oci", "mc"), _cloud),
    **dict.fromkeys(("kill", "pkill", "killall", "skill", "xkill", "fuser"), _kill),
    **dict.fromkeys(("crontab", "at", "batch", "atrm"), _crontab),
    **dict.fromkeys(("service", "rc-service", "supervisorctl", "pm2", "initctl"), _service),
    **dict.fromkeys(("mount", "umount", "swapon", "swapoff", "losetup", "cryptsetup"), _mounts),
    **dict.fromkeys(("iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl"), _firewall),
    **dict.fromkeys(("journalctl", "dmesg"), _journal),
    **dict.fromkeys(("hostname", "hostnamectl", "timedatectl", "localectl"), _hostname),
    **dict.fromkeys(("java", "jshell"), _java),
    **dict.fromkeys(
        ("ssh-keygen", "ssh-add", "ssh-copy-id", "ssh-agent", "gpg", "gpg2", "pass", "vault", "op"),
        _keys,
    ),
    **dict.fromkeys(("security", "keytool", "age", "sops", "bw", "secret-tool"), _keys),
    **dict.fromkeys(
        ("reboot", "shutdown", "halt", "poweroff", "init", "telinit"),
        _risk("system", "stops or restarts the machine"),
    ),
    **dict.fromkeys(
        ("useradd", "userdel", "usermod", "groupadd", "groupdel", "adduser", "deluser", "gpasswd"),
        _risk("privilege", "changes users of the machine"),
    ),
    **dict.fromkeys(
        ("passwd", "chpasswd", "visudo", "chsh", "chfn", "vipw"),
        _risk("privilege", "changes passwords or rights of users"),
    ),
    **dict.fromkeys(
        (
            "fdisk",
            "parted",
            "sfdisk",
            "gdisk",
            "sgdisk",
            "wipefs",
            "mkswap",
            "blkdiscard",
            "hdparm",
        ),
        _risk("destroy", "changes a disk itself"),
    ),
    "mkfs": _risk("destroy", "formats a disk"),
    **dict.fromkeys(
        ("lvremove", "vgremove", "pvremove", "zpool", "zfs", "mdadm", "diskutil", "badblocks"),
        _risk("destroy", "changes a disk itself"),
    ),
    **dict.fromkeys(
        ("modprobe", "insmod", "rmmod", "depmod", "update-grub", "grub-install", "dkms"),
        _risk("system", "changes the kernel"),
    ),
    **dict.fromkeys(
        ("chroot", "nsenter", "unshare", "bwrap", "firejail", "capsh", "gdb", "lldb"),
        _risk("privilege", "runs something outside of the usual limits"),
    ),
    **dict.fromkeys(
        (
            "update-alternatives",
            "update-rc.d",
            "chkconfig",
            "systemd-run",
            "setenforce",
            "auditctl",
        ),
        _risk("config", "changes settings of the machine"),
    ),
    **dict.fromkeys(
        ("dpkg", "rpm", "installer", "pkg", "pacman", "yay", "emerge"),
        _risk("install", "installs or removes programs of the machine"),
    ),
    **dict.fromkeys(
        ("script",),
        _risk("unclear", "runs commands in a terminal of their own"),
    ),
    **dict.fromkeys(
        ("scutil", "networksetup", "nmcli", "route", "tc", "iwconfig"),
        _risk("config", "changes how the machine is connected"),
    ),
    **dict.fromkeys(("ip", "ifconfig"), _links),
    **dict.fromkeys(("kubectl", "oc"), _kubectl),
    **dict.fromkeys(("screen", "tmux"), _terminals),
    "history": _history,
    "sysctl": _sysctl,
    "mysqldump": _risk("credentials", "copies a whole database"),
    "pg_dump": _risk("credentials", "copies a whole database"),
    "dropdb": _risk("delete", "deletes a database"),
    "createdb": _risk("config", "makes a database"),
    "logger": _risk("system", "writes to the machine's log"),
    "wall": _risk("system", "tells all users of the machine something"),
}
