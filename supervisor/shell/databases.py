"""Programs that run statements on databases: whether those only read. Pure."""

import re
from collections.abc import Iterator

from ..danger.paths import UNKNOWN
from ..danger.risks import Risk
from ..patterns import lazy_pattern
from .calls import Call, Finding, Handler, Scope, options

_READ_SQL = lazy_pattern(
    r"(?:select|show|describe|desc|explain|pragma\s+\w+\s*(?:;|$|\()|\\d\w*|\\l|\\dt|\.tables|\.schema|\.headers?|\.mode|\.databases"
    r"|\.indexes|values|with)\b",
    re.IGNORECASE,
)
_WRITE_SQL = lazy_pattern(
    r"\b(?:insert|update|delete|drop|truncate|alter|create|grant|revoke|replace|merge|copy|call|exec|execute|load|attach|vacuum"
    r"|into\s+outfile|into\s+dumpfile|pg_read_file|lo_import|lo_export|load_file|load_extension|writefile|set|\.shell|\.system"
    r"|\.import|\.output|\.once|\.read|\.save|\.restore|pg_terminate_backend|do)\b|\\[!ocigw]|`",
    re.IGNORECASE,
)


def sql_risks(text: str) -> Iterator[Risk]:
    """What statements put at risk; nothing where they only read."""
    if UNKNOWN in text:
        yield Risk("unclear", "runs statements on a database that are known only when they run")
        return
    bare = re.sub(r"'(?:''|[^'])*'|--[^\n]*|/\*.*?\*/", "''", text, flags=re.DOTALL)
    writing = _WRITE_SQL.search(bare)
    if writing:
        what = writing[0].upper()
        kind = "delete" if what in ("DELETE", "DROP", "TRUNCATE", "UPDATE") else "config"
        yield Risk(kind, f"changes a database with {what}")
    elif not all(_READ_SQL.match(each.strip()) for each in bare.split(";") if each.strip()):
        yield Risk("unclear", "runs statements on a database that are not understood")


def _sql(flags: tuple[str, ...], valued: str, *, positional: bool = False) -> Handler:
    def handler(call: Call, scope: Scope) -> Iterator[Finding]:
        given = options(call, valued, (*(f for f in flags if f.startswith("--")), "--file"))
        if given.has("--version", "--help", "-l", "--list", "-V"):
            return
        texts = [each.text for each in given.of(*flags)]
        if positional:
            texts += [each.text for each in given.operands[1:]]
        if call.given is not None:
            texts.append(call.given)
        for each in texts:
            yield from sql_risks(each)
        if not texts:
            yield Risk("unclear", f"has {call.program} run statements that are not seen")

    return handler


_REDIS_READS = frozenset(
    """get mget exists keys scan ttl pttl type strlen llen lrange hget hgetall hkeys hlen smembers scard zrange zcard
    ping info dbsize time echo memory object randomkey""".split()  # noqa: SIM905 - a table
)


def _redis(call: Call, scope: Scope) -> Iterator[Finding]:
    words = options(call, "hpnaurdcix").operands
    if not words or words[0].text.lower() not in _REDIS_READS:
        shown = words[0].shown if words else "commands that are not seen"
        loses = bool(words) and words[0].text.lower().startswith(("flush", "del", "unlink"))
        yield Risk("delete" if loses else "unclear", f"runs {shown} on a Redis database")


_MONGO_READS = frozenset(
    """db find findOne count countDocuments estimatedDocumentCount distinct getIndexes stats version serverStatus
    getCollection getCollectionNames getCollectionInfos limit sort skip pretty toArray size explain hint getMongo
    getDBNames currentOp isMaster hello printjson print JSON stringify length ObjectId ISODate NumberLong getSiblingDB
    listCollections dbStats totalSize dataSize true false null""".split()  # noqa: SIM905 - a table
)


def _mongo(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(
        call, "fhpu", ("--eval", "--host", "--port", "-u", "-p", "--username", "--password")
    )
    if given.has("--version", "--help"):
        return
    texts = given.of("--eval")
    if not texts or not all(_mongo_reads(each.text) for each in texts):
        yield Risk("unclear", "runs statements on a database that are not seen")


def _mongo_reads(code: str) -> bool:
    """Tell whether each statement only looks: plain methods that read, called on ``db``."""
    if UNKNOWN in code:
        return False
    bare = re.sub(r"\"[^\"\\]*\"|'[^'\\]*'", "''", code)
    called = re.findall(r"([\w$]+)\s*\(", bare)
    if re.search(
        r"=>|(?<![=!<>])=(?!=)|\bfunction\b|[`\[]|\$(?:out|merge|where|function|accumulator)\b",
        bare,
    ):
        return False
    statements = [each.strip() for each in bare.split(";") if each.strip()]
    plain = all(
        re.match(r"(?:db\b|show (?:dbs|collections|databases)$|print(?:json)?\()", each)
        for each in statements
    )
    return bool(statements) and plain and all(each in _MONGO_READS for each in called)


DATABASES: dict[str, Handler] = {
    **dict.fromkeys(("psql", "cockroach"), _sql(("-c", "--command"), "cdfhpUvoFRTLPU")),
    **dict.fromkeys(("mysql", "mariadb"), _sql(("-e", "--execute"), "ehuPDS")),
    **dict.fromkeys(("sqlite3", "duckdb"), _sql(("-cmd",), "", positional=True)),
    **dict.fromkeys(("mongosh", "mongo"), _mongo),
    **dict.fromkeys(("redis-cli", "valkey-cli"), _redis),
}
