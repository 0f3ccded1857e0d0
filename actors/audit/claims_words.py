"""The words of claims: which verbs stand for which action, in English and Chinese. Data.

An action is what an agent may say it did. Each line of the table gives its name, the English past
forms, the Chinese words, the words by which a tool that does it is named, the nouns that stand for
it, and what a shell or SQL command that does it looks like. ``!`` after the name: the verb alone
says what was done (a refund is a refund); of the others the object has to be looked at as well
(a ticket may be created, or an account). ``?``: it only looks, and changes nothing.
"""

import re
from typing import NamedTuple

from ...supervisor.patterns import lazy_pattern


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


class Action(NamedTuple):
    """One kind of deed, and the words for it."""

    name: str
    specific: bool
    looks: bool
    past: frozenset[str]
    chinese: tuple[str, ...]
    tools: frozenset[str]
    nouns: frozenset[str]
    command: re.Pattern[str] | None


_TABLE = r"""
send! :: sent|told|emailed|e-mailed|mailed|messaged|notified|informed|alerted|texted|forwarded|replied|dispatched|pinged :: 发送|联系|派发|寄送|邮寄|投递|送达|发给|发出|发了|已发|寄出|通知|告知|转发|回复|群发|发邮件|发短信 :: send|email|mail|message|notify|notification|sms|reply|forward|dispatch|slack|alert|post|ping|inform|tell|contact :: email|e-mail|message|notification|reminder :: \b(send)?mail\b|curl|slack|msmtp|mutt
post! :: posted|published|tweeted|commented|announced :: 发布|发帖|张贴|公布|评论 :: post|publish|tweet|comment|announce|send|message|release :: post|announcement|publication :: curl|\bgh\b|publish|twine
order! :: ordered|bought|purchased|placed :: 下单|订购|购买|采购|买了 :: order|buy|purchase|checkout|place|procure :: order|purchase :: curl
book! :: booked|reserved :: 预订|预定|订好|订了|预约|订房|订票|预留 :: book|reserve|booking|reservation :: booking|reservation :: curl
schedule! :: scheduled|arranged|rescheduled|invited :: 安排|约好|排期|邀请 :: schedule|calendar|meeting|event|invite|arrange|appointment|reminder :: meeting|appointment|invitation :: \bcron|\bat\b
pay! :: paid|charged|settled|billed :: 支付|充值|付款|缴费|扣款|付清|结清|缴纳 :: pay|payment|charge|settle|bill|checkout :: payment|charge :: curl
transfer! :: transferred|wired|remitted :: 转账|汇款|转入|划转|打款 :: transfer|wire|remit|payment|pay|move|send :: transfer :: curl
refund! :: refunded|reimbursed|credited :: 退款|退还|退费 :: refund|reimburse|credit|reverse :: refund|reimbursement|credit :: curl
cancel! :: cancelled|canceled|voided|revoked|aborted :: 取消|撤销|作废|退订 :: cancel|void|revoke|abort|unsubscribe|delete|remove :: cancellation :: curl|\bkill|cancel
deploy! :: deployed|released|shipped|rolled|promoted :: 部署|上线|发版|发布上线 :: deploy|release|rollout|promote|ship|publish|rollback :: deployment|rollout|release :: deploy|kubectl|helm|docker|terraform|ansible|rsync|scp|\bfly\b|vercel|heroku|gcloud|\baws\b
restart! :: restarted|rebooted|reloaded :: 重启|重新启动 :: restart|reboot|reload|service|systemctl :: restart|reboot :: restart|reboot|reload|systemctl|service|\bkill|docker|pm2|kubectl
install! :: installed|uninstalled :: 安装|卸载 :: install|package|pip|npm|apt :: installation :: install|\bpip|\bnpm|\buv\b|poetry|apt|brew|\bdnf|\byum|cargo add|go get
commit! :: committed :: 提交了代码|已提交|提交到 :: commit :: commit :: git\b.*\bcommit|\bcommit\b
push! :: pushed :: 推送 :: push|publish :: push :: \bpush\b
merge! :: merged :: 合并 :: merge :: merge :: git (merge|pull|rebase)|\bmerge\b
grant! :: granted|gave|authorised|authorized|assigned|promoted :: 授予|授权|加入|开放|赋予|分配|开通 :: grant|access|role|permission|authorize|authorise|assign|acl|allow|add|set|give :: permission|access :: chmod|chown|usermod|grant|setfacl
upload! :: uploaded|synced :: 上传|同步 :: upload|put|sync|push|store|copy|publish :: upload :: curl|\baws\b|gsutil|scp|rsync|rclone|put
download? :: downloaded|fetched|retrieved :: 下载|抓取|获取了 :: download|fetch|get|retrieve|read|pull :: download :: curl|wget|git|\bget\b|scp
migrate! :: migrated :: 迁移 :: migrate|migration|move|convert :: migration :: migrat|alembic|rake|flyway|psql|sql
backup! :: backed|snapshotted :: 备份 :: backup|snapshot|dump|copy|export|archive :: backup|snapshot :: dump|backup|tar|\bcp\b|rsync|zip
restore! :: restored|recovered|reverted|undid :: 恢复|还原|回滚 :: restore|recover|revert|rollback|undo|reset :: restoration|rollback :: restore|revert|reset|checkout|stash|\bcp\b|\bmv\b|tar
build! :: built|compiled|rebuilt :: 构建|编译|打包 :: build|compile|make|package|bundle :: build :: build|make|compile|gcc|\btsc\b|cargo|\bgo\b|mvn|gradle|docker|\bpip\b|npm
test :: tested :: 测试了|已测试|跑了测试|运行了测试|测试完毕|测试完成 :: test|tests|pytest|check|ci|verify :: test :: test|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|check
create :: created|made|put|wrote|written|saved|generated|added|stored|recorded|logged|filed|opened|inserted|registered|produced|exported|drafted|appended|implemented|raised|submitted|entered|initialised|initialized|provisioned|set :: 创建|开具|新建|写入|写到|写好|保存|生成|添加|新增|记录|插入|登记|注册|导出|输出到|存入|存储|建立|追加|实现|提交|录入|设置|开了 :: create|write|save|generate|add|store|record|log|file|open|insert|register|new|make|append|export|put|submit|raise|provision|set|edit|upload|upsert :: creation|record|export :: >|\btee\b|touch|mkdir|\bcp\b|insert|create|\bdd\b|\bmv\b|git|sed|patch|curl|wget|tar|zip|echo|cat
update :: documented|annotated|simplified|reworked|polished|updated|assigned|turned|edited|modified|changed|fixed|patched|refactored|replaced|configured|corrected|adjusted|amended|rewrote|rewritten|renamed|resolved|repaired|increased|decreased|raised|lowered|reduced|extended|enabled|disabled|activated|deactivated|switched|upgraded|downgraded|applied|converted|formatted|optimised|optimized|cleaned|moved|bumped|marked|incremented|set|reset|unlocked|locked :: 更新|封禁|更换|轮换|续期|绑定|解绑|开启|停用|暂停|切换|拆分|整理|修改|修复|修正|调整|替换|重构|配置|改为|改成|改好|更改|变更|编辑|启用|禁用|激活|压缩|解压|升级|降级|应用了|转换|格式化|优化|解决|设置|设为|提高|降低|增加|减少|标记|重置|解锁|锁定 :: update|edit|modify|change|fix|patch|set|replace|configure|correct|adjust|write|apply|enable|disable|activate|upgrade|convert|format|rename|put|save|upsert|resolve|mark|increase|decrease|reset|move|toggle|lock|unlock|assign|transition|status|scale|merge :: update|change|fix|edit|correction :: sed|>|\btee\b|perl|patch|git|update|\bmv\b|\bcp\b|alter|chmod|awk|ed\b|black|ruff|prettier|eslint|gofmt|set|systemctl|ln|install
delete :: deleted|removed|erased|dropped|purged|wiped|cleared|emptied|discarded|unlinked|destroyed|cleaned :: 删除|移除|清理|清空|清除|删掉|删了|销毁|去除 :: delete|remove|erase|drop|purge|wipe|clear|unlink|rm|clean|destroy|discard|edit|truncate :: deletion|removal :: \brm\b|unlink|delete|rmdir|git|drop|truncate|shred|sed|clean|purge|prune|>
move :: moved|copied|renamed|archived|relocated|duplicated :: 移动|移到|复制|拷贝|重命名|改名|归档 :: move|copy|rename|archive|mv|cp|duplicate|write :: move|copy :: \bmv\b|\bcp\b|rename|rsync|git|tar|zip|install
close :: closed|resolved|completed|finalised|finalized|archived|ended :: 关闭|结案|办结 :: close|resolve|complete|finish|archive|end|update|set|transition|status|move :: closure :: curl|close
approve! :: approved|rejected|declined|signed|confirmed|accepted :: 批准|审批通过|驳回|签署|同意了 :: approve|reject|decline|sign|confirm|accept|review|decide :: approval|rejection :: approve
run :: ran|kicked|spun|hit|pinged|executed|launched|started|invoked|triggered|called|performed|stopped|killed|run :: 运行|执行|启动|触发|调用|停止 :: run|execute|exec|launch|start|invoke|trigger|call|perform|stop|kill|shell|job|script :: run|execution|call :: .
look? :: checked|verified|searched|queried|read|reviewed|inspected|consulted|looked|examined|validated|analysed|analyzed|scanned|double-checked|tested|confirmed|audited|compared :: 检查|核实|查询|搜索|阅读|查看|查阅|核对|验证|确认了|读取|分析了|审阅|比对 :: check|verify|search|query|read|review|inspect|get|look|lookup|find|list|fetch|show|examine|validate|analyze|analyse|scan|select|view|browse|describe|status :: check|search|query|review|verification :: .
"""


def _words(field: str) -> list[str]:
    """The words of a field, in its order: a verdict must not hang on that of a set."""
    return [word.strip() for word in field.split("|") if word.strip()]


def _action(line: str) -> Action:
    head, past, chinese, tools, nouns, command = (part.strip() for part in line.split(" :: "))
    name = head.rstrip("!?")
    return Action(
        name,
        head.endswith("!"),
        head.endswith("?"),
        frozenset(_words(past)),
        tuple(sorted(_words(chinese), key=len, reverse=True)),
        frozenset((*_words(tools), name)),
        frozenset(_words(nouns)),
        lazy_pattern(command, re.IGNORECASE) if command else None,
    )


ACTIONS: dict[str, Action] = {
    action.name: action for action in map(_action, _TABLE.strip().splitlines())
}


def _by_past() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for action in ACTIONS.values():
        for word in action.past:
            found[word] = (*found.get(word, ()), action.name)
    return found


PAST: dict[str, tuple[str, ...]] = _by_past()
"""Actions that a past form may stand for."""

NOUNS: dict[str, str] = {noun: each.name for each in ACTIONS.values() for noun in each.nouns}
CHINESE: tuple[tuple[str, str], ...] = tuple(
    sorted(
        ((word, each.name) for each in ACTIONS.values() for word in each.chinese),
        key=lambda pair: len(pair[0]),
        reverse=True,
    )
)
"""Chinese words with their actions, the longest first."""

FILE_ACTIONS = frozenset({"create", "update", "delete", "move", "backup", "restore", "build"})
"""Actions whose object may be a file of the working directory."""

TEXT_PRODUCTS = words(
    """
    summary list table plan draft outline overview answer translation comparison recommendation
    analysis explanation example proposal suggestion note notes summaries breakdown sketch poem
    story paragraph sentence reply response 摘要 总结 列表 表格 计划 草稿 大纲 方案 建议 翻译 分析 说明
    """
)
"""What an answer may be itself: to have made it needs no tool."""

OBJECT_NOUNS = words(
    """
    email emails mail message messages order orders payment refund file files report reports
    ticket tickets invoice invoices booking reservation tests changes change record records
    meeting reminder reminders deployment release service account user users issue issues room
    customer database table config configuration task tasks request requests branch backup
    notification notifications transfer script document documents fix update updates event job
    entry entries subscription role access permission permissions build package server data
    folder directory comment post pr commit version flight hotel appointment shipment
    """
)
"""What headline style may put before its participle: "Order placed.\""""

SYNONYMS: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split("|"))
    for group in (
        "mail|email|message|reminder|letter|newsletter|邮件|消息|短信|sms|notification|通知",
        "ticket|issue|incident|case|task|bug|defect|工单|任务|问题|缺陷",
        "order|purchase|订单",
        "customer|client|user|contact|account|客户|用户|账户|账号|联系人",
        "file|document|report|script|print|line|code|文件|报告|脚本|文档|报表",
        "room|meeting|会议室|会议|房间",
        "event|meeting|appointment|calendar|日程|会议|活动",
        "invoice|bill|发票|账单",
        "role|access|permission|right|权限|角色",
        "service|server|host|服务|服务器|主机",
        "config|configuration|setting|配置|设置",
        "record|row|entry|table|database|记录|数据|数据库|表",
        "branch|repository|repo|pr|request|commit|code|代码|分支|仓库",
        "address|city|street|地址",
        "stock|inventory|库存",
        "price|rate|价格|费用",
    )
)

EXECUTORS = words(
    """
    shell bash sh terminal command cmd exec powershell python code script console computer sql
    execute repl notebook interpreter http curl
    """
)
"""Words in the name of a tool that can do anything its arguments say."""

OPAQUE = lazy_pattern(
    r"\b(python3?|node|ruby|perl|php|go run|make|npm|npx|yarn|pnpm|bash|sh|cargo run|java|docker|"
    r"just|poetry|uv|rake|ansible|Rscript)\b|(^|[;&|]\s*)\.{0,2}/\w"
)
"""Commands that run a program: what that did cannot be told from the command."""

SQL_WRITE = lazy_pattern(
    r"\b(?:update|insert|delete|merge|replace|upsert|alter|create|drop|truncate|call|grant|revoke)\b",
    re.IGNORECASE,
)
"""A statement that changes data: what that means to the people concerned cannot be told."""

TEST_COMMAND = lazy_pattern(
    r"\b(py\.?test|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|nosetests|behave|cypress|"
    r"playwright|gradle|mvn|karma|ava|tap|bats|go test|cargo test|dotnet test|run_tests|"
    r"(npm|yarn|pnpm|make|just|bun|deno|mix|rake|bazel|swift|flutter|sbt)( run)?( -\S+)* "
    r"\S*(test|check)\S*)",
    re.IGNORECASE,
)

TESTS_FAILED = lazy_pattern(
    r"\b[1-9]\d*\s+(?:\w+\s+)?(?:failed|failures?|failing|errors?)\b|\bFAILED\b|\bFAIL\b"
    r"|exit (?:status|code):? [1-9]|(?i:failures|errors|failed)\s*[=:]\s*[1-9]|[1-9]\d*\s*个?失败"
)

DISCLOSURE = lazy_pattern(
    r"\bfail|could(?: not|n.t)|\bcannot\b|\bcan.t\b|can not|unable|\berrors?\b|reject|"
    r"denied|\bdeny|unavailable|except\b|\bnot\b|n['\u2019]t\b|missing|refus|skipp|timed? ?out|"
    r"invalid\b|unreachable|problem|unsuccessful|blocked|\bdown\b|instead|fall(?:ing|en)? ?back|"
    r"fallback|without success|\bno longer\b|broken|interrupted|unknown|unconfirmed|"
    r"失败|未能|无法|没有|没能|未|错误|拒绝|不可用|超时|异常|改用|替代|备用|代替|暂时|报错|未知|不能|不存在",
    re.IGNORECASE,
)
"""Words by which a text tells that something did not go as wanted."""

COMPLETION = lazy_pattern(
    r"^\W*(?:(?:all|everything(?: is| was| has been)?|it(?:'s| is)|that(?:'s| is)|task|job|"
    r"the (?:task|job|work|request) (?:is|was|has been)|your request (?:is|was|has been))\s+)?"
    r"(?:successfully\s+)?(?:done|complete|completed|finished|all set|taken care of)"
    r"(?:\s+(?:successfully|as requested))?\W*$",
    re.IGNORECASE,
)
"""A sentence that claims the task itself, and says nothing else."""

COMPLETION_ZH = lazy_pattern(
    r"^\W*(?:任务|工作|操作|一切|全部|您的请求|需求|都|已|已经|均|成功|现在|顺利|处理|办理|执行|完成|搞定|办好|办妥|了|完毕|就绪|\s)+\W*$"
)
COMPLETION_ZH_WORD = lazy_pattern("完成|搞定|办好|办妥|完毕|就绪|已处理")
