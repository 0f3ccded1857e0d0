"""Numbers that mean something at one service only; the service is known by its host or its shape.

The same number is a different thing elsewhere (45009 is a daily quota at WeChat, a frequency limit
at WeCom), so a number is looked up only once the service is known.
"""

from collections.abc import Mapping
from typing import Any

from ..patterns import lazy_pattern
from .phrases import Verdict, has_chinese, parse_verdict
from .values import mapping

HOSTS: Mapping[str, str] = {
    "open.feishu.cn": "feishu",
    "open.larksuite.com": "feishu",
    "qyapi.weixin.qq.com": "wecom",
    "api.weixin.qq.com": "wechat",
    "oapi.dingtalk.com": "dingtalk",
    "discord.com": "discord",
    "discordapp.com": "discord",
    "eco.taobao.com": "taobao",
    "taobao.com": "taobao",
    "aip.baidubce.com": "baidu",
    "baidubce.com": "baidu",
    "bigmodel.cn": "zhipu",
    "z.ai": "zhipu",
    "api.minimax": "minimax",
    "minimaxi.": "minimax",
    "xf-yun.com": "iflytek",
    "xfyun.cn": "iflytek",
    "api.twilio.com": "twilio",
    "graph.facebook.com": "meta",
    "api.twitter.com": "twitter",
    "api.x.com": "twitter",
    "openapi.alipay.com": "alipay",
    "alipay.com": "alipay",
    "openapi.jd.com": "jd",
    "api.vk.com": "vk",
    "siliconflow": "siliconflow",
    "api.weibo.com": "weibo",
}

_TABLES: Mapping[str, str] = {
    "feishu": """
rate_limited no :: 99991400 11232 11233 230020 1254290 1470450 1770024 190004 11247
permission_denied no :: 99991401 99991661 99991662 99991663 99991664 99991665 99991668 99991671
permission_denied no :: 99991672 99991673 99991677 99991679
permission_denied no :: 230002 230006 230013 230027 230035 230101 1061004 1062501 1063002 1254302
permission_denied no :: 1254304 131006 1770032 1470403 10003 10014 10015
permission_denied no :: 20005 20027 19024 19021 19022 9499403 1061073 1236013 91403 190005 40004
permission_denied no :: 190014 191002 193002
content_refused no :: 230022 230028
business_rejected no :: 1063006 1470429 1064510 1062507 1254103 1254104 230017 230110 230018
invalid_argument no :: 230001 230025 230099 99992402 99992351 99992352 99992353 99992354 99992356
invalid_argument no :: 1254000 1254001 1254002 1254015 1254040
invalid_argument no :: 1254041 1254042 1254043 1254044 1254045 1061002 1061003 1061007 131002
invalid_argument no :: 131005 1470400 1470602 1470404 1770001 1770002 9499 19002
transient no :: 1061045 131009 1254291 1254607 1255003 1770003 1064230
transient maybe :: 1255001 1255002 131001 1061001 1254036
in_doubt_timeout maybe :: 1255040
""",
    "wechat": """
transient maybe :: -1
permission_denied no :: 40001 40002 40013 40014 40125 40164 41001 41002 42001 42002 42007 48001
permission_denied no :: 48004 48006 50001 61004 61007 89503 40243 61450 45009 50002
rate_limited no :: 45011 45035
business_rejected no :: 45015 45047 43004 43101 45065 45028 43019 40163 45064 48002 87009 9001020
business_rejected no :: 43104
invalid_argument no :: 40003 40007 40008 40009 40029 40037 41030 40033 40035 41005 41006 44001
invalid_argument no :: 44002 44003 44004 45001 45002 45003 45008 46001 46002 46003 46004 47003
invalid_argument no :: 41028
content_refused no :: 87014 45166
bug no :: 47001 43001 43002 43003
""",
    "wecom": """
transient maybe :: -1
permission_denied no :: 40001 40013 40014 40056 41001 42001 48002 48003 60011 60020 301002 301005
permission_denied no :: 40078 41022 50001 50002 50003 60028 84074 90501
rate_limited no :: 45009 45033 45011 45014
business_rejected no :: 84061 60104 60102 60103 40096 45029 41050 45028
invalid_argument no :: 40003 40007 40058 60111 81013 40031 40033 40035 40063 44004 45002 60003
invalid_argument no :: 60123 86001 41017 41021 86003 86008
bug no :: 47001 43001 43002
""",
    "dingtalk": """
transient maybe :: -1 15 34
rate_limited no :: 90002 90004 90005 90007 90008 90018 130101 410100 90017
permission_denied no :: 40001 40014 40089 42001 50002 60011 60020 310000 300001 52019 88 33001
permission_denied no :: 33012 49000 50004 41001 52018
invalid_argument no :: 40035 40056 41010 60121 400002 41028 34012 50015 60003 33008
business_rejected no :: 60104 49010 53002 34010 34011 60016 60005
""",
    "discord": """
rate_limited no :: 20028 20022 20029 31001 31002 40062 429
permission_denied no :: 40001 40002 40003 50001 50013 50014 20001 20009 50025 40012 60003 50095
permission_denied no :: 20012 40014
business_rejected no :: 50007 40007 40033 50021 50024 50055 160002 160004 50083 50068 50005 40032
business_rejected no :: 40060 50003 10062 200000 200001 50019 40041
invalid_argument no :: 50035 50006 50016 50033 50036 50045 50109 40005 50041 50008 50034
""",
    "taobao": """
rate_limited no :: 7
permission_denied no :: 11 12 13 24 25 26 27 28 29 53 56 100 105 30
invalid_argument no :: 32 33 40 41 42 43
in_doubt_timeout maybe :: 9 10
bug no :: 21 22 23
""",
    "baidu": """
transient no :: 2
transient maybe :: 336000 336100 336101 336117
unknown maybe :: 1
rate_limited no :: 18 336501 336502 336503 336504 336505 4
permission_denied no :: 6 13 14 15 17 19 110 111 336004 336005 5
invalid_argument no :: 100 336001 336003 336006 336104 336105 336106 336200 336201 336202 336203
invalid_argument no :: 336204 216100 216101 216102 216103 216200 216201 216202 282004
context_overflow no :: 336103 336007 336008
content_refused no :: 336122 336123
bug no :: 3 336002
""",
    "zhipu": """
permission_denied no :: 1000 1001 1002 1003 1004 1110 1111 1112 1113 1114 1115 1121 1211 1220 1222
permission_denied no :: 1304 1309 1311 1313 1315
invalid_argument no :: 1210 1212 1213 1214 1215
transient maybe :: 1200 1230 1231 1234
transient no :: 1312 1305 1120
rate_limited no :: 1302 1303 1308 1310
context_overflow no :: 1261
content_refused no :: 1300 1301
business_rejected no :: 1221
""",
    "minimax": """
unknown maybe :: 1000
in_doubt_timeout maybe :: 1001
rate_limited no :: 1002 1041 2045
permission_denied no :: 1004 1008 2049 2056 2038 2042 2061
transient maybe :: 1013 1024 1033
content_refused no :: 1026 1027
context_overflow no :: 1039
invalid_argument no :: 1042 2013 20132 2037 2039 2048
""",
    "iflytek": """
permission_denied no :: 10005 10006 10016 11200 11201 10015 10017 10313
rate_limited no :: 10007 11202 11203
transient no :: 10008 10110
transient maybe :: 10009 10010 10011 10012 10222 10223
content_refused no :: 10013 10014 10019
invalid_argument no :: 10163 10003 10004
context_overflow no :: 10907
in_doubt_timeout maybe :: 10200 10114
""",
    "twilio": """
permission_denied no :: 20003 20005 20006 20008 21606 21608 21408 30002 21659 21212 20010
rate_limited no :: 20429 14107 30001 63018 60203 60202
invalid_argument no :: 20404 21211 21601 21602 21603 21604 21614 21617 21619 20001 21205 21421
invalid_argument no :: 21401 20422 60200 21265
business_rejected no :: 21610 21612 21611 30003 30004 30005 30006 30007 21635 63016 20409 30034
transient maybe :: 20500 20503
""",
    "meta": """
permission_denied no :: 3 10 102 190 200 210 230 260 131005 131031 131042 133010 131045 463 467
permission_denied no :: 458
rate_limited no :: 4 17 32 613 80000 80001 80002 80003 80004 80007 130429 131048 131056 341
transient maybe :: 1 2 131000 131016 133004
business_rejected no :: 368 506 131026 131047 131049 1609005 131050 132015 132016
invalid_argument no :: 100 803 131008 131009 132000 132001 132005 132012 131051
""",
    "twitter": """
permission_denied no :: 32 64 87 89 99 135 179 220 226 326 453 467
rate_limited no :: 88
invalid_argument no :: 17 25 34 44 50 144 186 214 325
business_rejected no :: 139 160 187 327 349 385 433 261
permission_denied no :: 185
transient no :: 130
transient maybe :: 131
""",
    "alipay": """
rate_limited no :: 40005
permission_denied no :: 20001 40006
transient maybe :: 20000
invalid_argument no :: 40001 40002
in_doubt_timeout yes :: 10003
business_rejected no :: 40004 40003
""",
    "siliconflow": """
context_overflow no :: 20015
permission_denied no :: 30001 20012 30003
transient no :: 50505 50507
""",
    "weibo": """
rate_limited no :: 10022 10023 10024
permission_denied no :: 10005 10006 10013 10014 21301 21314 21315 21316 21317 21327
transient maybe :: 10001 10002 10009 10010
""",
}


def _read(table: str, vendor: str) -> dict[str, Verdict]:
    found: dict[str, Verdict] = {}
    for line in table.strip().splitlines():
        head, _, listed = line.partition(" :: ")
        found |= {code: parse_verdict(head, f"{vendor} {code}") for code in listed.split()}
    return found


TABLES: Mapping[str, Mapping[str, Verdict]] = {
    name: _read(table, name) for name, table in _TABLES.items()
}
# Number ranges a service documents as a family; the exact numbers above come first.
_RANGES: Mapping[str, Mapping[str, Verdict]] = {
    "discord": {
        "10": parse_verdict("invalid_argument no", "discord 10xxx"),
        "20": parse_verdict("permission_denied no", "discord 20xxx"),
        "30": parse_verdict("business_rejected no", "discord 30xxx"),
    }
}
# Codes too general to decide alone, though the service is known.
GENERAL: Mapping[str, frozenset[str]] = {
    "alipay": frozenset(("40004", "40002", "40001", "20000", "40003")),
    "taobao": frozenset(("15",)),
    "siliconflow": frozenset(("20015",)),
    "zhipu": frozenset(("1210", "1214", "1200", "1230")),
    "minimax": frozenset(("2013", "1000", "2056")),
    "dingtalk": frozenset(("88", "-1")),
    "wechat": frozenset(("-1",)),
    "baidu": frozenset(("336003", "336001", "336006", "100", "4")),
    "meta": frozenset(("100", "1", "2", "10", "200")),
}


# Zhipu gives its numbers as texts, also through gateways and SDKs that hide the host.
_ZHIPU = lazy_pattern(r"1[0-3]\d\d")


def vendor_of(url: str, body: Any) -> str:
    """The service an answer came from; empty if its numbers mean nothing to us."""
    for host, name in HOSTS.items():
        if host in url:
            return name
    node = mapping(body)
    if "base_resp" in node:
        return "minimax"
    if "errcode" in node:
        return "dingtalk" if "request_id" in node or "sub_code" in node else "wechat"
    if "error_code" in node and "error_msg" in node:
        return "baidu"
    error = mapping(node.get("error")) or node
    code, message = error.get("code"), str(error.get("message", ""))
    if isinstance(code, str) and _ZHIPU.fullmatch(code) and has_chinese(message):
        return "zhipu"
    header = mapping(node.get("header"))
    return "iflytek" if {"code", "sid"} <= header.keys() else ""


def of_number(vendor: str, code: str) -> tuple[Verdict | None, bool]:
    """What a number means at a service, and whether it decides by itself."""
    found = TABLES.get(vendor, {}).get(code)
    if found is None and len(code) == 5:
        found = _RANGES.get(vendor, {}).get(code[:2])
    return found, code not in GENERAL.get(vendor, ())
