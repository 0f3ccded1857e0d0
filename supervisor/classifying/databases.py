"""Judge the errors of database drivers: SQLSTATE, numbers, and the words each server uses."""

import re

from ..errors import ErrorClass
from ..patterns import lazy_pattern
from .evidence import Evidence
from .phrases import Verdict, first, parse_rules, parse_verdict
from .server_numbers import of_mssql
from .tables import MONGO, MYSQL, REDIS, SQLITE, SQLSTATE
from .values import mapping
from .words import of_connection, of_words

_C = ErrorClass
_INVALID = parse_verdict("invalid_argument no", "validation of the arguments")


def of_database(evidence: Evidence) -> Verdict | None:
    """SQLSTATE, and the numbers and words of SQLite, MySQL, MongoDB and Redis."""
    diag = mapping(evidence.attrs.get("diag"))
    state = evidence.text("sqlstate") or evidence.text("pgcode") or str(diag.get("sqlstate") or "")
    if len(state) == 5 and not (evidence.module == "snowflake" and state[0] == "5"):
        return _sqlstate(state, evidence.message)
    if (name := evidence.text("sqlite_errorname")) or evidence.module == "sqlite3":
        return _sqlite(name, evidence.message.lower())
    if evidence.module == "redis" or evidence.module == "redis_lock":
        return _redis(evidence)
    if evidence.module in ("pymysql", "mysql", "MySQLdb", "asyncmy", "aiomysql"):
        number = re.match(r"\(?(\d{4})\b", evidence.message)
        return MYSQL.get(int(number[1])) if number else None
    if evidence.module in _ODBC:
        return _odbc(evidence.message)
    if evidence.module in ("pymongo", "motor"):
        found = MONGO.get(evidence.number("code") or 0)
        return found or of_connection(evidence.message)
    if evidence.module in ("psycopg", "psycopg2", "asyncpg"):
        return _postgres(evidence)
    return None


_ODBC = ("pyodbc", "aioodbc", "pymssql", "pytds", "turbodbc")
_ODBC_STATE = lazy_pattern(r"^\('([0-9A-Z]{5})'|^\[([0-9A-Z]{5})\]")
# States under which ODBC drivers put whatever has none of its own.
_NO_STATE = ("HY000", "42000", "01000")
_CONNECTING = parse_verdict("transient no", "a login that took too long")


def _odbc(message: str) -> Verdict | None:
    """The server's own number, then the state of ODBC, then words."""
    if (told := of_mssql(message)) is not None:
        return told
    if "login timeout" in message.lower():
        return _CONNECTING
    state = _ODBC_STATE.search(message)
    code = (state[1] or state[2]) if state else ""
    if not code or code in _NO_STATE:
        return of_words(message) or (SQLSTATE["42"] if code == "42000" else None)
    return _sqlstate(code, message)


_P0001 = parse_verdict("business_rejected no", "SQLSTATE P0001")
_CANCELED = parse_rules(
    """
transient no :: statement timeout|lock timeout|conflict with recovery|idle-in-transaction
    |transaction timeout
cancelled no :: user request
""",
    "SQLSTATE 57014",
)


def _sqlstate(state: str, message: str) -> Verdict | None:
    if state == "57014" and (said := first(_CANCELED, message.lower())) is not None:
        return said
    found = SQLSTATE.get(state.lower()) or SQLSTATE.get(state[:2].lower())
    if found is None or found.error_class is _C.UNKNOWN:
        told = of_words(message)
        return told if found is None or (told and told.error_class is not _C.TRANSIENT) else found
    return found


_SQLITE_WORDS = parse_rules(
    """
transient no :: is locked|busy
bug maybe :: within a transaction|no transaction is active
bug maybe :: closed database|recursive use|same thread|bindings supplied|binding 
    |did not supply a value|one statement at a time
permission_denied no :: readonly|unable to open|authoriz|not authorized
resource_exhausted maybe :: disk is full
business_rejected no :: unique constraint|primary key|check constraint
invalid_argument no :: not null constraint|foreign key|syntax error|no such|has no column|near 
    |too big|mismatch|unrecognized token|incomplete input|ambiguous column
unknown maybe :: malformed|not a database|disk i/o
""",
    "SQLite words",
)


def _sqlite(name: str, message: str) -> Verdict | None:
    found = SQLITE.get(name.lower().replace("_", "")) if name else None
    if found is not None and name not in ("SQLITE_ERROR", "SQLITE_CONSTRAINT"):
        return found
    return first(_SQLITE_WORDS, message) or found


_REDIS_WORDS = parse_rules(
    """
transient no :: max number of clients|too many connections|loading
invalid_argument no :: not an integer|out of range|syntax error|index out|no such key
    |invalid expire|not a valid float
bug no :: unknown command|wrong number of arguments|unknown subcommand|multi|without
permission_denied no :: invalid password|authentication|no password|auth 
""",
    "Redis words",
)


# An error that a command inside a script met: commands before it have run, and stay.
_SCRIPT_ERROR = lazy_pattern(r"[Ee]rror running script.*?[: ]-([A-Z]{2,20} .*)")


def _redis(evidence: Evidence) -> Verdict | None:
    if script := _SCRIPT_ERROR.search(evidence.message):
        found = _redis_reply(evidence, script[1])
        return None if found is None else found._replace(executed="maybe")
    return _redis_reply(evidence, evidence.message)


def _redis_reply(evidence: Evidence, message: str) -> Verdict | None:
    if evidence.has("locknotownederror"):
        return parse_verdict("business_rejected no", "a lock that is no longer ours")
    if evidence.has("lockerror"):
        return parse_verdict("transient no", "a lock that another holds")
    if evidence.has("authenticationerror", "nopermissionerror", "authorizationerror"):
        return parse_verdict("permission_denied no", f"type {evidence.type_name}")
    if evidence.has("timeouterror") and "connecting" not in message.lower():
        return parse_verdict("in_doubt_timeout maybe", "type TimeoutError")
    if evidence.has("connectionerror", "timeouterror"):
        if evidence.has("busyloadingerror", "maxconnectionserror") or "too many" in message.lower():
            return parse_verdict("transient no", f"type {evidence.type_name}")
        return of_connection(message)
    found = REDIS.get(message.split(" ", 1)[0].lower())
    found = found or {
        "movederror": parse_verdict("bug no", "a plain client at a cluster"),
        "askerror": parse_verdict("bug no", "a plain client at a cluster"),
        "readonlyerror": REDIS["readonly"],
        "outofmemoryerror": REDIS["oom"],
        "noscripterror": REDIS["noscript"],
        "clusterdownerror": REDIS["clusterdown"],
        "tryagainerror": REDIS["tryagain"],
        "execaborterror": REDIS["execabort"],
        "masterdownerror": REDIS["masterdown"],
        "dataerror": parse_verdict("invalid_argument no", "type DataError"),
        "pubsuberror": REDIS["execabort"],
        "watcherror": parse_verdict("transient no", "a watched key was changed"),
    }.get(evidence.names[0])
    return found or first(_REDIS_WORDS, message.lower())


def _postgres(evidence: Evidence) -> Verdict | None:
    """A driver's own complaint, before or after the server's."""
    message = evidence.message.lower()
    if "server closed the connection" in message or "connection was closed" in message:
        return parse_verdict("in_doubt_timeout maybe", "the server closed the connection")
    if (
        "password authentication" in message
        or "no pg_hba" in message
        or "does not exist" in message
    ):
        return parse_verdict("permission_denied no", "refused at login")
    if evidence.has("connectiontimeout", "pooltimeout", "toomanyrequests"):
        return parse_verdict("transient no", f"type {evidence.type_name}")
    if evidence.has("operationalerror"):
        return of_connection(message) or of_words(message)
    if evidence.has("programmingerror", "interfaceerror", "internalclienterror"):
        return parse_verdict("bug maybe", f"type {evidence.type_name}")
    if evidence.has("dataerror"):
        return _INVALID
    return None
