"""Files a statement says were made, changed, removed or moved, against files and calls. Pure."""

import posixpath
import re

from ...supervisor.patterns import lazy_pattern
from .claims_made import NEGATED, NEGATED_ZH, PATH, Claim
from .claims_text import sentences
from .claims_values import ADVICE
from .findings import Finding, finding
from .ledger import Ledger
from .record import FileFact, NoFiles, Ran, name_words

_SOURCE_BEFORE = lazy_pattern(
    r"(?:\b(?:of|from|on|using|with|based on|for|like|matching|match|matches|against|per|via|by|see|"
    r"than|reading|read|after|through|according to|imports? \w+|references? (?:to|in))|从|根据|按照|参照|基于|对|读取|依据|用)\s*(?:the |file |files )*$",
    re.IGNORECASE,
)
_INTO = lazy_pattern(
    r"\b(?:convert|compress|zip|export|archiv|compil|translat|copied|copy|transform|render|merg|combin|"
    r"split|pack|dump)\w*\b.*\b(?:to|into|as)\b|(?:转换|压缩|导出|复制|打包|合并|翻译|归档)\S*(?:为|成|到|至)",
    re.IGNORECASE,
)
_MAKES = frozenset({"create", "update", "build", "backup", "restore"})


def check_files(claim: Claim, ledger: Ledger, statement: str = "") -> list[Finding] | None:
    """Return what is wrong with the files a claim names; None where it names none of its own."""
    named = [(hit[0].rstrip(".,)"), claim.text[: hit.start()]) for hit in PATH.finditer(claim.text)]
    actions = set(claim.actions)
    if "move" in actions and len(named) > 1 and _moved(claim):
        return _check_moved(claim, ledger, named[0][0], named[-1][0])
    if len(named) > 1 and _INTO.search(claim.text):
        named = named[-1:]  # "a.xlsx was converted to a.csv"
    targets = [path for path, before in named if not _SOURCE_BEFORE.search(before[-24:])]
    if not targets:
        return None
    found: list[Finding] = []
    for path in targets:
        if actions & {"delete"} and not actions & _MAKES:
            found += _check_gone(claim, ledger, path)
        else:
            found += (
                [] if _made_and_gone(path, ledger, statement) else _check_made(claim, ledger, path)
            )
    return found


_GONE_SAID = lazy_pattern(
    r"\b(?:removed|deleted|cleaned up|discarded|dropped)\b|删除|移除|清理", re.IGNORECASE
)
_GONE_DONE = lazy_pattern(r"(?<![\w-])(?:delete|remove|rm|unlink|del)(?![a-z])", re.IGNORECASE)


def _made_and_gone(path: str, ledger: Ledger, statement: str) -> bool:
    """Whether a file was made, and removed by a later call, and the answer tells of both."""
    if not _GONE_SAID.search(statement):
        return False
    fact = ledger.record.files.look(path)
    done = [each for each in _naming(ledger, path) if each.ok]
    if fact is None or fact.exists or len(done) < 2:
        return False
    last = done[-1]
    return _GONE_DONE.search(f"{last.tool.replace('_', ' ')} {ledger.command(last)}") is not None


_IMPERATIVE = lazy_pattern(
    r"^(?:to [^,]{1,60}, (?:just |simply )?|(?:then|now|afterwards|finally),? |you (?:just |only )?(?:need to|have to|can) )?(?:add|create|put|run|use|see|check|open|edit|move|write|save|copy|delete|remove|rename|update|"
    r"set|read|look|place|make|import|include|let|start|try|call|execute|install)\b",
    re.IGNORECASE,
)


_THERE = lazy_pattern(
    r"^\W{0,3}(?:is|are) (?:now )?(?:\w+ly )?(?:ready|available|there|in place|complete|finished|done|generated|saved|stored|written)\b|"
    r"^\W{0,3}(?:已|现已)(?:就绪|生成|可用|保存)",
    re.IGNORECASE,
)
_IN_IT = lazy_pattern(
    r"\b(?:is|are|(?:can|may) be found|lies?|(?:is|are|was|were) (?:stored|saved|written|kept)) (?:now )?in (?:the file )?[`'\"]?$|"
    r"(?:保存|存放|写|放)?在(?:文件)?\s?$",
    re.IGNORECASE,
)
"""How a file is said to be there, whatever was heard of it before: behind its name, and before it."""


def files_not_there(statement: str, ledger: Ledger) -> list[Finding]:
    """Return the files a statement tells of that are not there, and were never heard of."""
    found: list[Finding] = []
    if isinstance(ledger.record.files, NoFiles):
        return found
    for sentence in sentences(statement):
        if sentence.asserted < len(sentence.fragments) or _IMPERATIVE.match(sentence.text):
            continue
        if ADVICE.search(sentence.text) or NEGATED.search(sentence.text):
            continue
        if NEGATED_ZH.search(sentence.text):
            continue
        for hit in PATH.finditer(sentence.text):
            path = hit[0].rstrip(".,)")
            fact = ledger.record.files.look(path)
            there = (
                _THERE.search(sentence.text[hit.end() :]) is not None
                or _IN_IT.search(sentence.text[: hit.start()]) is not None
            )
            if fact is not None and not fact.exists and (there or not _heard_of(path, ledger)):
                claim = Claim(kind="action", text=sentence.text)
                found.append(finding("contradicted", claim, f"there is no file {path}"))
    return found


def _heard_of(path: str, ledger: Ledger) -> bool:
    last = posixpath.basename(path.rstrip("/")).lower()
    return any(last in ledger.text(each) for each in ledger.ran) or any(
        last in each.lower() for each in ledger.record.said
    )


_TO = lazy_pattern(
    rf"(?:{PATH.pattern})\W{{0,3}}(?:was |were |has been |have been |is |are )?(?:\w+ )?(?:to|into|as|→|->|=>|到|为|成|至|移动到|重命名为|改名为)\W{{0,3}}(?:the )?(?:{PATH.pattern})",
    PATH.flags,
)


def _moved(claim: Claim) -> bool:
    return (
        _TO.search(claim.text) is not None
        and "cop" not in claim.verb
        and "duplic" not in claim.verb
        and not re.search("复制|拷贝", claim.text)
    )


def names(path: str, text: str) -> bool:
    """Tell whether a text names a file, by its path or its last part."""
    last = posixpath.basename(path.rstrip("/")).lower()
    return (
        bool(last)
        and re.search(rf"(?<![\w.-]){re.escape(last)}(?![\w-])", text.lower()) is not None
    )


def _naming(ledger: Ledger, path: str) -> list[Ran]:
    """Writes and commands that name a file."""
    return [each for each in ledger.writes if names(path, ledger.command(each))]


def _check_made(claim: Claim, ledger: Ledger, path: str) -> list[Finding]:
    fact = ledger.record.files.look(path)
    calls = _naming(ledger, path)
    done = [each for each in calls if each.ok]
    if fact is not None and not fact.exists:
        return [finding("contradicted", claim, f"there is no file {path}", calls)]
    if fact is not None and fact.changed is False:
        return [finding("contradicted", claim, f"{path} did not change", calls)]
    put_back = any(each.state == "rolled_back" for each in calls)  # that changed it as well
    if done or (fact is not None and fact.changed and not put_back):
        return []
    return _not_seen(claim, ledger, path, calls)


def _check_gone(claim: Claim, ledger: Ledger, path: str) -> list[Finding]:
    fact: FileFact | None = ledger.record.files.look(path)
    calls = _naming(ledger, path)
    inside = re.search(rf"(?:\bfrom|\bin|\bof|从)\s+(?:the )?{re.escape(path)}", claim.text)
    if inside is not None:
        return _check_made(claim, ledger, path)
    if fact is not None and fact.exists:
        return [finding("contradicted", claim, f"{path} is still there", calls)]
    if any(each.ok for each in calls):
        return []
    return _not_seen(claim, ledger, path, calls)


def _check_moved(claim: Claim, ledger: Ledger, old: str, new: str) -> list[Finding]:
    there = ledger.record.files.look(new)
    if there is not None and not there.exists:
        return [finding("contradicted", claim, f"there is no file {new}", _naming(ledger, new))]
    gone = ledger.record.files.look(old)
    if gone is not None and gone.exists:
        return [finding("contradicted", claim, f"{old} is still there", _naming(ledger, old))]
    calls = _naming(ledger, new) or _naming(ledger, old)
    return [] if any(each.ok for each in calls) else _not_seen(claim, ledger, new, calls)


def _not_seen(claim: Claim, ledger: Ledger, path: str, calls: list[Ran]) -> list[Finding]:
    """Nothing shows that a file was touched: could anything have done it?"""
    if ledger.opaque:
        why = f"programs ran, and nobody can tell whether they touched {path}"
        return [finding("unverified", claim, why, ledger.opaque)]
    if calls:
        return [finding("contradicted", claim, f"no call that names {path} succeeded", calls)]
    if ledger.executors or any(_writes_files(name) for name in ledger.tools):
        return [finding("contradicted", claim, f"no call names {path}")]
    return [finding("unverified", claim, f"nothing is known of {path}")]


def _writes_files(name: str) -> bool:
    words = {*name_words(name)}
    verbs = {
        "write",
        "save",
        "edit",
        "create",
        "delete",
        "remove",
        "patch",
        "export",
        "move",
        "put",
    }
    return bool(words & {"file", "files"} and words & verbs) or words & verbs == words
