"""Codes of standards and of programs on this machine: what each number or name stands for.

HTTP statuses, errno, SQLSTATE, MySQL, MongoDB, SQLite, Redis, gRPC, SMTP, curl, signals, JSON-RPC
and the names of exception classes, which HTTP clients and drivers share to a large part.
"""

import errno
from collections.abc import Mapping

from .phrases import Verdict, parse_codes, parse_verdict


def _numbers(table: str, family: str) -> dict[int, Verdict]:
    found: dict[int, Verdict] = {}
    for line in table.strip().splitlines():
        head, _, listed = line.partition(" :: ")
        for number in listed.split():
            found[int(number)] = parse_verdict(head, f"{family} {number}")
    return found


# RFC 9110, and what nginx (44x, 49x), load balancers (460) and Cloudflare (52x) add to it.
STATUS: Mapping[int, Verdict] = _numbers(
    """
invalid_argument no :: 400 410 413 414 416 422
permission_denied no :: 401 402 403 407 426 450 495 496 498 508 511 525 526
business_rejected no :: 409 412 423 451
bug no :: 405 406 411 415 417 421 428 431 494 501 505 506 510
unknown maybe :: 424 418 507
transient no :: 408 425 503 521 522 523 529
rate_limited no :: 420 429 509
transient maybe :: 500 502 520 530
in_doubt_timeout maybe :: 444 504 524 598 599
cancelled maybe :: 460 499
invalid_argument no :: 404
""",
    "status",
)

# What the machine, the path, the right or the connection is at fault for.
ERRNO: Mapping[int, Verdict] = {
    number: parse_verdict(head, f"errno {name}")
    for head, names in {
        "resource_exhausted maybe": "ENOSPC EDQUOT EMFILE ENFILE ENOMEM EFBIG ENOBUFS ENOLCK EUSERS",
        "permission_denied no": "EACCES EPERM EROFS EADDRINUSE EADDRNOTAVAIL ENOEXEC ENODEV ENXIO"
        " EAFNOSUPPORT EPROTONOSUPPORT",
        "invalid_argument no": "ENOENT ENOTDIR EISDIR ENAMETOOLONG ELOOP EINVAL EXDEV ENOTSOCK ERANGE",
        "business_rejected no": "EEXIST ENOTEMPTY",
        "transient no": "ECONNREFUSED EHOSTUNREACH ENETUNREACH EHOSTDOWN ENETDOWN EAGAIN EBUSY ETXTBSY"
        " ESTALE EDEADLK",
        "in_doubt_timeout maybe": "ECONNRESET EPIPE ETIMEDOUT ECONNABORTED ESHUTDOWN ENETRESET",
        "bug maybe": "EBADF EFAULT ENOTCONN EDOM",
        "resource_exhausted no": "E2BIG",
        "unknown maybe": "EIO ECHILD ESRCH",
        "cancelled maybe": "ECANCELED EINTR",
    }.items()
    for name in names.split()
    if (number := getattr(errno, name, None)) is not None
}

# What Windows says behind an errno that stands for many things (winerror.h).
WINERROR: Mapping[int, Verdict] = _numbers(
    """
invalid_argument no :: 2 3 53 67 87 123 161 206 267
permission_denied no :: 5 19 65 86 577 740 1219 1260 1314 1326 1327 1330 1331 1385 1907 1909 10013
permission_denied no :: 126 127 193 216 11001
transient no :: 32 33 170 996 1237 10035 10061 10065 10051 11002
resource_exhausted maybe :: 8 14 39 112 1450 1453 1455 1816 10024 10055
business_rejected no :: 80 145 183
in_doubt_timeout maybe :: 64 109 121 232 258 1236 1460 10053 10054 10058 10060
cancelled maybe :: 995 1223
unknown maybe :: 1117 1392
""",
    "WinError",
)

# Replies of FTP (RFC 959); of a reply that is not here, words may say more.
FTP: Mapping[int, Verdict] = _numbers(
    """
transient no :: 425 450
in_doubt_timeout maybe :: 426
transient maybe :: 421 451
resource_exhausted maybe :: 452
bug no :: 500 502 503 504
permission_denied no :: 530 532 534 535 552
invalid_argument no :: 501 550 553
""",
    "FTP reply",
)

# Names of exception classes, looked up along the ancestry, nearest first.
NAMES: Mapping[str, Verdict] = parse_codes(
    """
# before a byte of the request left
transient no :: ConnectTimeout PoolTimeout ConnectError ConnectionRefusedError
transient no :: NewConnectionError
transient no :: ConnectTimeoutError ConnectionTimeoutError EndpointConnectionError
transient no :: ServerSelectionTimeoutError
transient no :: ClientConnectorError EmptyPoolError ProxyConnectionError WouldBlock QueueFull
transient no :: ServerTimeoutConnect CannotConnectNowError MaxConnectionsError BusyLoadingError
transient no :: StaleDataError OptimisticLockError PoolTimeoutError ConnectionAcquireTimeout
transient no :: NoBrokersAvailable NodeNotReadyError BrokerNotAvailableError LeaderNotAvailableError
transient no :: GroupCoordinatorNotAvailableError CoordinatorNotAvailableError NotCoordinatorError
transient no :: NotCoordinatorForGroupError GroupLoadInProgressError CoordinatorLoadInProgressError
transient no :: ClientProxyConnectionError CircuitBreakerError CircuitOpenError
transient no :: CircuitBreakerOpenError
# the request had gone out, or may have
in_doubt_timeout maybe :: ReadTimeout WriteTimeout ReadError WriteError CloseError IncompleteRead
in_doubt_timeout maybe :: ConnectionTimeout TimeLimitExceeded SoftTimeLimitExceeded
in_doubt_timeout maybe :: APITimeoutError TimeoutError ConnectionResetError BrokenPipeError
in_doubt_timeout maybe :: TimeoutExpired
in_doubt_timeout maybe :: ReadTimeoutError RemoteDisconnected ServerDisconnectedError
in_doubt_timeout maybe :: SocketTimeoutError
in_doubt_timeout maybe :: ServerTimeoutError ConnectionClosedError ConnectionAbortedError
in_doubt_timeout maybe :: IncompleteReadError
in_doubt_timeout maybe :: EndOfStream BrokenResourceError ConnectionDoesNotExistError
in_doubt_timeout maybe :: SMTPServerDisconnected
in_doubt_timeout maybe :: AutoReconnect NetworkTimeout Timeout TooSlowError KafkaTimeoutError
in_doubt_timeout maybe :: BrokenStreamError
in_doubt_timeout yes :: ClientPayloadError ChunkedEncodingError ResponseStreamingError
in_doubt_timeout yes :: ContentLengthError
in_doubt_timeout maybe :: RemoteProtocolError ClientOSError ConnectionClosed DeadlineExceeded
in_doubt_timeout maybe :: ReadTimeoutException RequestTimedOutError NotEnoughReplicasAfterAppendError
# the answer is there and cannot be read
unknown yes :: DecodingError ContentDecodingError DecodeError ContentTypeError ResponseParserError
# rights and the set-up
permission_denied no :: PermissionError SSLCertVerificationError CertificateError
permission_denied no :: ClientConnectorCertificateError
permission_denied no :: NoCredentialsError PartialCredentialsError CredentialRetrievalError
permission_denied no :: ProfileNotFound
permission_denied no :: TokenRetrievalError UnauthorizedSSOTokenError NoRegionError
permission_denied no :: SSOTokenLoadError ConfigNotFound
permission_denied no :: DefaultCredentialsError RefreshError AuthenticationError
permission_denied no :: AuthenticationException
permission_denied no :: NoSuchModuleError ModuleNotFoundError ImproperlyConfigured
permission_denied no :: ConfigurationError
permission_denied no :: ServerFingerprintMismatch UnknownServiceError
permission_denied no :: UnsupportedProtocolVersionError
permission_denied no :: SignatureVerificationError AuthorizationError NotAuthorized
permission_denied no :: ClientConnectorDNSError NameResolutionError TooManyRedirects
permission_denied no :: InvalidTokenError ExpiredSignatureError InvalidSignatureError
permission_denied no :: BadHostKeyException
# ours: the arguments
invalid_argument no :: FileNotFoundError NotADirectoryError IsADirectoryError BadZipFile
invalid_argument no :: SameFileError
invalid_argument no :: InvalidURL InvalidSchema MissingSchema UnsupportedProtocol
invalid_argument no :: NonHttpUrlClientError
invalid_argument no :: InvalidUrlClientError LocationParseError LocationValueError URLRequired
invalid_argument no :: ParamValidationError InvalidSchemaError CookieConflict BadGzipFile
invalid_argument no :: LZMAError
invalid_argument no :: UnidentifiedImageError ParserError ScannerError EmptyDataError
invalid_argument no :: TOMLDecodeError MessageSizeTooLargeError RecordTooLargeError
invalid_argument no :: NoSectionError NoOptionError
business_rejected no :: FileExistsError
# the machine
resource_exhausted maybe :: MemoryError OutOfMemoryError
# somebody stopped it
cancelled maybe :: CancelledError Cancelled KeyboardInterrupt SystemExit AbortError GeneratorExit
# programs' faults
bug maybe :: ArithmeticError AssertionError AttributeError ImportError LookupError NameError
bug maybe :: NotImplementedError RecursionError TypeError UnicodeError SyntaxError BufferError
bug maybe :: StopIteration StopAsyncIteration ClosedResourceError BusyResourceError
bug maybe :: InvalidStateError
bug maybe :: StreamError LocalProtocolError ResourceClosedError UnpicklingError PicklingError
bug maybe :: IllegalStateChangeError DetachedInstanceError MissingGreenlet InterfaceError
bug maybe :: FrozenInstanceError PendingRollbackError
bug maybe :: UndefinedError TemplateSyntaxError TemplateAssertionError
bug maybe :: EncodeError ReferenceError SystemError BrokenBarrierError UnsupportedOperation
""",
    "type",
)

# SQLSTATE, whole or by its first two characters (PostgreSQL appendix A; ISO 9075).
SQLSTATE: Mapping[str, Verdict] = parse_codes(
    """
transient no :: 08001 08004 40001 40P01 40002 55P03 53300 57P03 25P04 72000 55006 HYT01
in_doubt_timeout maybe :: 08 08003 08006 08007 40003 57P01 57P02 57P05 HYT00 08S01
transient no :: 40
permission_denied no :: 28 3D000 3F000 IM 42501 25006 0A 0L 0P 53400 58P01 F0 2F
resource_exhausted maybe :: 53100 53200 54
transient no :: 53
invalid_argument no :: 22 42 21 02 23502 23503 34 54000 54001 54011 54023 428C9
business_rejected no :: 23 23505 23514 23P01 P0001 44 27 45 45000
bug maybe :: 25 25P02 26 2D 39 0Z 0B 03
unknown maybe :: XX 58 P0 HV 55
cancelled no :: 57014 HY008
business_rejected no :: 42S01
resource_exhausted maybe :: HY001
""",
    "SQLSTATE",
)

MYSQL: Mapping[int, Verdict] = _numbers(
    """
permission_denied no :: 1044 1045 1049 1142 1143 1227 1130 1698 1290 1836 2005 2059 2061 1370 1419
transient no :: 1040 1203 1205 1213 2002 2003 1129 3572 1614 1180 1020 1047 1297 1412
transient no :: 8002 8022 8027 8028 9007
rate_limited no :: 1226
bug no :: 2014
in_doubt_timeout maybe :: 2006 2013 2055 1053 1158 1159 1160 1161 4031 8005
transient maybe :: 9001 9002 9003 9005
transient maybe :: 1969 3024
business_rejected no :: 1022 1062 1169 1217 1451 1557 1586 3819 4025 1644 1050 1007
invalid_argument no :: 1048 1054 1064 1136 1146 1216 1264 1265 1292 1364 1366 1406 1452 1690 1051
invalid_argument no :: 1052 1109 1153 1193 1231 1235 1318 8004
invalid_argument no :: 1305 1153 1411 1525 3140 1241 1365 1426 1425
resource_exhausted maybe :: 1021 1037 1038 1041 1114 1135 1206 3 8001
cancelled maybe :: 1317 1094
""",
    "MySQL error",
)

MONGO: Mapping[int, Verdict] = _numbers(
    """
permission_denied no :: 13 18 8000 11 31 33 26
business_rejected no :: 11000 11001 12582 20 48
transient no :: 112 24 251 225 16500 46 246
transient maybe :: 91 189 10107 11600 11602 13435 13436 6 7 9001 262
in_doubt_timeout maybe :: 50 64 89 202
invalid_argument no :: 2 9 14 121 52 10334 17280 28
cancelled maybe :: 11601
""",
    "MongoDB error",
)

SQLITE: Mapping[str, Verdict] = parse_codes(
    """
transient no :: SQLITE_BUSY SQLITE_LOCKED SQLITE_BUSY_SNAPSHOT SQLITE_BUSY_RECOVERY
transient no :: SQLITE_LOCKED_SHAREDCACHE
transient no :: SQLITE_BUSY_TIMEOUT SQLITE_PROTOCOL
permission_denied no :: SQLITE_READONLY SQLITE_CANTOPEN SQLITE_PERM SQLITE_AUTH
permission_denied no :: SQLITE_READONLY_DBMOVED
permission_denied no :: SQLITE_CANTOPEN_ISDIR SQLITE_CANTOPEN_FULLPATH SQLITE_READONLY_DIRECTORY
resource_exhausted maybe :: SQLITE_FULL SQLITE_NOMEM SQLITE_IOERR_NOMEM
business_rejected no :: SQLITE_CONSTRAINT_UNIQUE SQLITE_CONSTRAINT_PRIMARYKEY
business_rejected no :: SQLITE_CONSTRAINT_CHECK
business_rejected no :: SQLITE_CONSTRAINT_TRIGGER SQLITE_CONSTRAINT_ROWID
invalid_argument no :: SQLITE_CONSTRAINT_NOTNULL SQLITE_CONSTRAINT_FOREIGNKEY
invalid_argument no :: SQLITE_CONSTRAINT_DATATYPE
invalid_argument no :: SQLITE_ERROR SQLITE_TOOBIG SQLITE_MISMATCH SQLITE_RANGE
permission_denied no :: SQLITE_NOTADB
unknown maybe :: SQLITE_CORRUPT SQLITE_IOERR SQLITE_INTERNAL
bug maybe :: SQLITE_MISUSE SQLITE_NOLFS SQLITE_SCHEMA SQLITE_ABORT
cancelled no :: SQLITE_INTERRUPT
""",
    "SQLite",
)

# First word of a Redis error reply.
REDIS: Mapping[str, Verdict] = parse_codes(
    """
transient no :: LOADING BUSY TRYAGAIN CLUSTERDOWN MASTERDOWN NOREPLICAS ASK MOVED INPROG
transient no :: READONLY NOTREADY UNBLOCKED
permission_denied no :: NOAUTH WRONGPASS NOPERM DENIED MISCONF NOGOODSLAVE
resource_exhausted no :: OOM
bug no :: WRONGTYPE NOSCRIPT EXECABORT CROSSSLOT UNKNOWN NOPROTO
in_doubt_timeout maybe :: UNKILLABLE
business_rejected no :: BUSYKEY BUSYGROUP
invalid_argument no :: NOGROUP
""",
    "Redis",
)

GRPC: Mapping[str, Verdict] = parse_codes(
    """
cancelled maybe :: CANCELLED
unknown maybe :: UNKNOWN DATA_LOSS INTERNAL
invalid_argument no :: INVALID_ARGUMENT NOT_FOUND OUT_OF_RANGE
in_doubt_timeout maybe :: DEADLINE_EXCEEDED
business_rejected no :: ALREADY_EXISTS FAILED_PRECONDITION
permission_denied no :: PERMISSION_DENIED UNAUTHENTICATED
rate_limited no :: RESOURCE_EXHAUSTED
transient no :: ABORTED
transient maybe :: UNAVAILABLE
bug no :: UNIMPLEMENTED
""",
    "gRPC",
)

CURL: Mapping[int, Verdict] = _numbers(
    """
invalid_argument no :: 1 3 78 79
transient no :: 5 7 45 8 16
permission_denied no :: 6 9 35 51 53 54 58 59 60 66 67 77 80 82 83 90 91 2 4
in_doubt_timeout maybe :: 18 28 52 55 56 92 95
resource_exhausted maybe :: 23 27
unknown maybe :: 22 47 61
cancelled maybe :: 42
invalid_argument no :: 26 37
""",
    "curl exit",
)

# What ended a process: signals as negative exit statuses, or 128 + n from a shell.
SIGNALS: Mapping[int, Verdict] = _numbers(
    """
cancelled maybe :: 1 2 3 15
resource_exhausted maybe :: 9 24 25
bug maybe :: 4 5 6 7 8 11 31
in_doubt_timeout maybe :: 14
unknown maybe :: 13
""",
    "signal",
)

# Exit statuses with a meaning of their own: sysexits.h, coreutils timeout, shells.
EXITS: Mapping[int, Verdict] = _numbers(
    """
in_doubt_timeout maybe :: 124
permission_denied no :: 126 127 77 78 72
invalid_argument no :: 64 65 66 67
transient maybe :: 75
bug maybe :: 70
""",
    "exit status",
)

JSONRPC: Mapping[int, Verdict] = _numbers(
    """
bug no :: -32700 -32600
permission_denied no :: -32601 -32022 -32042
invalid_argument no :: -32602 -32002
unknown maybe :: -32603
rate_limited no :: -32005 -32029
cancelled maybe :: -32800
in_doubt_timeout maybe :: -32001
""",
    "JSON-RPC",
)
