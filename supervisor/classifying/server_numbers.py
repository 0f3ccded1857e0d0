"""Numbers of Oracle and of SQL Server, which their drivers write into the text of an error."""

from collections.abc import Mapping

from ..patterns import lazy_pattern
from .phrases import Verdict, parse_verdict


def _numbers(table: str, family: str) -> dict[str, Verdict]:
    found: dict[str, Verdict] = {}
    for line in table.strip().splitlines():
        head, _, listed = line.partition(" :: ")
        for number in listed.split():
            found[number] = parse_verdict(head, f"{family}{number}")
    return found


# Client numbers carry their own prefix (DPY: thin, DPI: thick driver).
ORACLE: Mapping[str, Verdict] = _numbers(
    """
transient no :: 18 20 51 54 60 1033 1034 1089 1090 1555 2049 4020 4021 4061 4065 4068 8103 8176 8177
transient no :: 12170 12516 12518 12519 12520 12526 12528 12541 12545 30006 DPY-4005 DPY-6000
in_doubt_timeout maybe :: 28 2396 2399 3113 3114 3135 12152 12535 12537 12547 12570 12571 12606 12609
in_doubt_timeout maybe :: 25408 DPY-4011 DPY-4024 DPI-1067 DPI-1080
permission_denied no :: 439 1004 1005 1017 1031 1045 1435 1536 1918 1950 12154 12162 12505 12514 12533
permission_denied no :: 16000 24247 28000 28001 28002 28003 28009 28759 29024 DPY-3015 DPY-6001 DPY-4027
resource_exhausted maybe :: 257 1650 1652 1653 1654 1658 1659 1688 1691 1692 4030 4031 19502 19809
business_rejected no :: 1 955 1430 2290 2292 2443
invalid_argument no :: 1400 1401 1403 1407 1422 1438 1461 1722 1747 1789 2291 6502 6550 12899
bug no :: 1008 1036 DPY-1001 DPI-1010
cancelled maybe :: 1013
unknown maybe :: 600 3124 7445 29275
""",
    "Oracle error ",
)
_ORACLE = lazy_pattern(r"\bORA-(\d{5})\b|\b(DP[YI]-\d{4})\b")
_SYNTAX = parse_verdict("invalid_argument no", "Oracle error in the statement")
_RAISED = parse_verdict("business_rejected no", "Oracle error raised by the application")

MSSQL: Mapping[str, Verdict] = _numbers(
    """
transient no :: 601 1205 1222 3935 3960 3961 10928 10929 17830 40143 40501 40613 49918 49919 49920
transient maybe :: 40197
permission_denied no :: 229 230 262 297 300 911 916 3906 4060 15247 18452 18456 18470 18486 18487 18488
permission_denied no :: 40532 40544 40615
resource_exhausted maybe :: 701 802 1101 1105 3257 8645 8651 9002
business_rejected no :: 547 1505 1801 2601 2627 2714 50000
invalid_argument no :: 102 105 120 121 137 156 164 201 206 207 208 209 213 214 220 232 241 242 245 248
invalid_argument no :: 295 515 544 1038 2628 2812 4104 8114 8115 8144 8145 8152
bug no :: 226 266 3902 3903 3930
""",
    "SQL Server error ",
)
_ODBC_NUMBER = lazy_pattern(r"\((\d{2,6})\) \(SQL\w{1,30}\)|^\((\d{2,6}), b?[\"']")


def of_oracle(text: str) -> Verdict | None:
    """The first number that is known: those around it name the place or the wrapper."""
    for found in _ORACLE.finditer(text):
        number = str(int(found[1])) if found[1] else found[2]
        told = ORACLE.get(number) or (_of_range(int(number)) if found[1] else None)
        if told is not None:
            return told
    return None


def _of_range(number: int) -> Verdict | None:
    if 900 <= number <= 999 or 1830 <= number <= 1899:
        return _SYNTAX
    return _RAISED if 20_000 <= number <= 20_999 else None


def of_mssql(text: str) -> Verdict | None:
    """The number of SQL Server, as ODBC and the other drivers write it behind the text."""
    found = _ODBC_NUMBER.search(text)
    return MSSQL.get(found[1] or found[2]) if found else None
