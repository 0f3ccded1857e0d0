"""Programs that talk to other machines: what they send, fetch and command. Pure."""

import re
from collections.abc import Iterator

from ..danger.hosts import host_named, host_of
from ..danger.paths import UNKNOWN
from ..danger.risks import Risk
from ..danger.sensitive import sensitive_in
from ..patterns import lazy_pattern
from .calls import (
    Call,
    Finding,
    Handler,
    Options,
    RunsText,
    Scope,
    asks_host,
    is_sensitive,
    options,
    reads,
    sends_to,
    writes,
)
from .expand import Field
from .subcommands import by_table

_CURL_VALUED = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
_CURL_LONG = """
    --url --data --data-raw --data-binary --data-urlencode --data-ascii --json --form --form-string --upload-file
    --request --header --output --output-dir --user --user-agent --proxy --config --cookie --cookie-jar --max-time
    --connect-timeout --retry --retry-delay --referer --range --write-out --cacert --cert --key --resolve
    --connect-to --unix-socket --interface --limit-rate --max-redirs --dump-header --trace --trace-ascii --oauth2-bearer
    --noproxy --retry-max-time --socks5 --socks5-hostname --preproxy
"""
_CURL_BODY = (
    "-d",
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--data-ascii",
    "--json",
    "-F",
    "--form",
    "--form-string",
    "-T",
    "--upload-file",
)
_PLAIN_METHODS = ("GET", "HEAD", "OPTIONS")


def _curl(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, _CURL_VALUED, _CURL_LONG.split())
    trusted = scope.limits.trusted_hosts
    addresses = (*given.operands, *given.of("--url"))
    bodies = given.of(*_CURL_BODY)
    methods = [each.text.upper() for each in given.of("-X", "--request")]
    sends = bool(bodies) or any(each not in _PLAIN_METHODS for each in methods)
    if given.has("-G", "--get") and not any(each not in _PLAIN_METHODS for each in methods):
        sends = False
    yield from _bodies(scope, bodies, uploads=given.of("-T", "--upload-file"))
    for each in addresses:
        yield from _request(scope, each, sends=sends)
    if not addresses and not given.has("--version", "-V", "--help", "--manual"):
        yield Risk("network", "asks an address that is not named")
    for each in given.of("-u", "--user"):
        hosts = [host_of(address.text) for address in addresses]
        if ":" in each.text and any(host and list(sends_to(host, trusted)) for host in hosts):
            yield Risk("exfiltration", f"sends a password to {_shown(addresses)}")
    if "DELETE" in methods:
        yield Risk("delete", f"asks {_shown(addresses)} to delete something")
    if given.of("-x", "--proxy", "--preproxy", "--socks5", "--connect-to", "--resolve"):
        yield Risk("network", "sends the request to another machine than the address names")
    if given.of("-K", "--config"):
        yield Risk("unclear", "takes what it does from a file")
    if given.of("--unix-socket"):
        yield Risk("system", "commands a service of this machine through its socket")
    yield from _secrets_sent(scope, call, addresses)
    yield from _saved(scope, given, addresses, ("-o", "--output", "-D", "--dump-header"))
    if given.has("-O", "--remote-name") and not given.of("--output-dir"):
        yield from writes(scope, Field("."), "downloads to")


def _shown(fields: tuple[Field, ...]) -> str:
    return ", ".join(each.shown for each in fields) or "an address that is not named"


def _request(scope: Scope, address: Field, *, sends: bool) -> Iterator[Risk]:
    """What one request puts at risk: whom it asks, and what the address itself tells them."""
    trusted = scope.limits.trusted_hosts
    before, hidden, _ = address.text.partition(UNKNOWN)
    host_known = not hidden or re.match(r"(?:[a-z]+://)?[^/?#]+[/?#]", before) is not None
    if address.text.lower().startswith("file:"):
        yield from reads(scope, Field(re.sub(r"^file:(?://)?", "", address.text)))
        return
    host = host_of(address.text)
    if not host_known or host is None:
        yield Risk("network", f"asks {address.shown}, an address that is known only when it runs")
    elif sends:
        yield from sends_to(host, trusted)
    elif hidden and not host.is_one_of(trusted) and list(sends_to(host, trusted)):
        yield Risk("network", f"tells {host.name} something that is known only when it runs")
    else:
        yield from asks_host(host, trusted)


def _bodies(
    scope: Scope, bodies: tuple[Field, ...], uploads: tuple[Field, ...] = ()
) -> Iterator[Risk]:
    """What is sent: files by their name, texts by their shape; also to hosts that are trusted."""
    for each in bodies:
        files = re.findall(r"(?:^|=)[@<]([^;,]+)", each.text)
        for name in (*files, *((each.text,) if each in uploads else ())):
            for place in scope.places(name):
                if is_sensitive(scope.limits, place, globs=each.globs):
                    yield Risk("exfiltration", f"sends {place.shown}, which may hold secrets")
        for words in sensitive_in(each.text):
            yield Risk("exfiltration", f"sends {words}")


def _secrets_sent(scope: Scope, call: Call, addresses: tuple[Field, ...]) -> Iterator[Risk]:
    """Keys and passwords in an address or a header; to a trusted host they may go."""
    hosts = [host_of(each.text) for each in addresses]
    if hosts and all(host and host.is_one_of(scope.limits.trusted_hosts) for host in hosts):
        return
    for each in call.arguments:
        for words in sensitive_in(each.text):
            yield Risk("exfiltration", f"sends {words} to {_shown(addresses)}")
            return


def _saved(
    scope: Scope, given: Options, addresses: tuple[Field, ...], names: tuple[str, ...]
) -> Iterator[Risk]:
    for each in given.of(*names):
        if each.text != "-":
            yield from writes(scope, each, "downloads to")
    for each in given.of("--output-dir", "-P", "--directory-prefix"):
        yield from writes(scope, each, "downloads to")


def _wget(call: Call, scope: Scope) -> Iterator[Finding]:
    long = "--post-data --post-file --body-data --body-file --method --header --output-document --directory-prefix"
    given = options(
        call, "OPUeitTwQoaDIXAR", (*long.split(), "--input-file", "--user", "--password")
    )
    files = given.of("--post-file", "--body-file")
    texts = given.of("--post-data", "--body-data")
    methods = [each.text.upper() for each in given.of("--method")]
    sends = bool(files or texts) or any(each not in _PLAIN_METHODS for each in methods)
    yield from _bodies(scope, (*files, *texts), uploads=files)
    for each in given.operands:
        yield from _request(scope, each, sends=sends)
    if given.of("-i", "--input-file") or not given.operands:
        yield Risk("network", "asks addresses that are not named")
    if given.has("--use-askpass", "--config") or "-e" in {name for name, _ in given.values}:
        yield Risk("unclear", "takes what it does from settings")
    yield from _secrets_sent(scope, call, given.operands)
    yield from _saved(scope, given, given.operands, ("-O", "--output-document", "-o", "-a"))


def _httpie(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "oasph", ("--output", "--auth", "--session"))
    words = list(given.operands)
    method = words.pop(0).text if words and words[0].text.isupper() else ""
    sends = method not in ("", *_PLAIN_METHODS) or any(
        re.search(r"(?<!=)(?::?=|@)", each.text) for each in words[1:]
    )
    for each in words[:1]:
        yield from _request(scope, each, sends=sends or call.piped)
    if method == "DELETE":
        yield Risk("delete", f"asks {_shown(tuple(words[:1]))} to delete something")
    yield from _bodies(scope, tuple(words[1:]))
    yield from _saved(scope, given, given.operands, ("-o", "--output"))


# ---------------------------------------------------------------- copying and commanding

_REMOTE = lazy_pattern(r"(?:[\w.-]+@)?([\w.-]+|\[[0-9a-f:]+\]):(?!//)|(?:rsync|sftp|scp|ssh)://")


def _copies(call: Call, scope: Scope) -> Iterator[Finding]:
    """scp and rsync."""
    given = options(call, "eiPoFJlcSBTfM", ("--rsh", "--exclude", "--include", "--files-from"))
    *sources, target = given.operands or (Field(UNKNOWN),)
    if any(each.text != "ssh" for each in given.of("-e", "--rsh")) or given.of("-o"):
        yield Risk("code", "may run a program to make the connection")
    if given.has("--delete", "--remove-source-files", "--del", "--delete-after"):
        yield Risk("delete", f"deletes files while it copies to {target.shown}")
    for each in sources:
        for place in scope.places(each.text):
            if is_sensitive(scope.limits, place, globs=each.globs):
                yield Risk("exfiltration", f"copies {place.shown}, which may hold secrets")
    if _REMOTE.match(target.text):
        yield Risk("network", f"copies files to another machine, {target.shown}")
    else:
        yield from writes(scope, target, "copies files to")
    for each in sources:
        if _REMOTE.match(each.text):
            yield Risk("network", f"copies files from another machine, {each.shown}")


def _ssh(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "bcDEeFIiJLlmOopQRSWw")
    # Options may stand behind the host, the command's own are behind that.
    words = list(given.operands)
    yield Risk("network", f"commands another machine, {_shown(given.operands[:1])}")
    if len(words) > 1:
        text = " ".join(each.text for each in words[1:])
        if UNKNOWN not in text:
            yield RunsText(text)


def _sockets(call: Call, scope: Scope) -> Iterator[Finding]:
    """nc, socat and their like: whatever comes in goes out."""
    given = options(call, "pswqXxIiOTecG", ("--exec", "--sh-exec"))
    if given.of("-e", "-c", "--exec", "--sh-exec"):
        yield Risk("network", "gives another machine a program to command")
    local = given.has("-z") and all(
        not list(sends_to(host_named(each.text), ())) for each in given.operands[:1]
    )
    if not local:
        yield Risk("network", f"opens a connection with {call.program}")


def _asks_names(call: Call, scope: Scope) -> Iterator[Finding]:
    """dig, ping and their like: what they ask for travels to whoever answers."""
    for each in call.arguments:
        if not each.known:
            yield Risk("network", f"asks for {each.shown}, which is known only when it runs")


def _always(words: str) -> Handler:
    def handler(call: Call, scope: Scope) -> Iterator[Finding]:
        yield Risk("network", words)

    return handler


_GH_SENDS = lazy_pattern(r"-[fFX].*|--(?:method|field|raw-field|input)(?:=.*)?")


def _gh(call: Call, scope: Scope) -> Iterator[Finding]:
    """``gh api PATH`` reads, as long as nothing is sent and no other method is named."""
    texts = [each.text for each in call.arguments]
    known = all(each.known for each in call.arguments)
    sends = any(_GH_SENDS.fullmatch(each) for each in texts)
    if (
        texts[:1] == ["api"]
        and known
        and not sends
        and not any("graphql" in each for each in texts)
    ) and not any(re.search(r"secret|token|/keys\b", each) for each in texts):
        return
    yield from by_table(call, scope)


NETWORK: dict[str, Handler] = {
    "gh": _gh,
    **dict.fromkeys(("curl", "curlie"), _curl),
    **dict.fromkeys(("wget", "wget2"), _wget),
    **dict.fromkeys(("http", "https", "xh", "xhs"), _httpie),
    **dict.fromkeys(("scp", "rsync"), _copies),
    **dict.fromkeys(("ssh", "mosh", "autossh", "sshpass"), _ssh),
    **dict.fromkeys(("nc", "ncat", "netcat", "socat", "telnet", "openbsd-nc"), _sockets),
    **dict.fromkeys(
        ("dig", "host", "nslookup", "ping", "ping6", "traceroute", "whois"), _asks_names
    ),
    **dict.fromkeys(("netstat", "ss", "getent", "drill", "mtr", "tracepath"), _asks_names),
    **dict.fromkeys(
        ("sftp", "ftp", "lftp", "tftp", "rclone"), _always("moves files between machines")
    ),
    **dict.fromkeys(("aria2c", "axel"), _always("downloads files")),
    **dict.fromkeys(("mail", "mailx", "sendmail", "mutt", "swaks"), _always("sends a mail")),
    **dict.fromkeys(("nmap", "masscan", "hydra", "sqlmap"), _always("probes other machines")),
    **dict.fromkeys(
        ("ngrok", "cloudflared", "localtunnel"), _always("opens this machine to others")
    ),
    **dict.fromkeys(
        ("xdg-open", "open", "lynx", "w3m", "links"), _always("opens an address or file")
    ),
    **dict.fromkeys(("tcpdump", "tshark", "wireshark"), _always("records network traffic")),
}
