"""Hold the trace of our supervisors against one that real OTP produced.

Levels: 1 = results, events in order, and the tree after each step (children as a set);
2 = the supervisors' reports too; 3 = the order in which which_children lists the children too.
With ``kind`` the wording of start and validation errors is forgiven.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

Json = Any
Case = dict[str, Json]
Step = dict[str, Json]

# Errors that are told apart even when the wording is forgiven.
NAMED = {
    "running",
    "restarting",
    "not_found",
    "already_present",
    "simple_one_for_one",
    "max_children",
}


def load_cases(paths: Iterable[Path]) -> list[Case]:
    """Return the cases in these files and, recursively, folders; by name, each once."""
    files: set[Path] = set()
    for path in paths:
        files |= set(path.rglob("*.json")) if path.is_dir() else {path}
    found: dict[str, Case] = {}
    for file in sorted(files):
        content = as_dict(json.loads(file.read_text(encoding="utf-8")))
        if {"case", "tree", "steps", "trace"} <= content.keys():
            found[str(content["case"])] = content
    return [found[name] for name in sorted(found)]


def as_dict(value: Json) -> dict[str, Json]:
    """Return a JSON object as it is, and an empty one for anything else."""
    return cast(dict[str, Json], value) if isinstance(value, dict) else {}


def is_unordered(tree: Json, path: str) -> bool:
    """Tell whether the supervisor at this path stops its children in no defined order."""
    node = tree
    for part in path.split("/")[1:]:
        if node.get("strategy") == "simple_one_for_one" and "template" in node:
            child = node["template"]
        else:
            child = next((c for c in node.get("children", ()) if c.get("id") == part), None)
        if not child or "sup" not in child:
            return False
        node = child["sup"]
    return node.get("strategy") in ("simple_one_for_one", "dynamic")


def parent(path: str) -> str:
    return path.rsplit("/", 1)[0] if "/" in path else ""


def _key(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _events(tree: Json, events: Sequence[Json], order: str) -> list[Json]:
    if order == "any":
        return sorted(events, key=_key)
    if order == "per_parent":
        groups: dict[str, list[Json]] = {}
        for event in events:
            groups.setdefault(parent(event["path"]), []).append(event)
        events = [event for above in sorted(groups) for event in groups[above]]
    return _sort_unordered_exits(tree, events)


def _sort_unordered_exits(tree: Json, events: Sequence[Json]) -> list[Json]:
    out: list[Json] = []
    run: list[Json] = []
    for event in [*events, None]:
        above = parent(event["path"]) if event else None
        if run and not (event and event["ev"] == "exit" and above == parent(run[0]["path"])):
            out += sorted(run, key=lambda each: (each["path"], each["n"]))
            run = []
        if event and event["ev"] == "exit" and is_unordered(tree, str(above)):
            run.append(event)
        elif event:
            out.append(event)
    return out


def _kind(error: Json) -> Json:
    named = isinstance(error, str) and error in NAMED
    return error if named or "already_started" in as_dict(error) else "other"


def _forgive(out: Step) -> Step:
    def result(given: Json) -> Json:
        fields = as_dict(given)
        return {"error": _kind(fields["error"])} if "error" in fields else given

    out["result"] = result(out["result"])
    for field in ("meanwhile", "results"):
        if field in out:
            out[field] = [result(each) for each in out[field]]
    for field, name, what in (
        ("events", "ev", "start_failed"),
        ("reports", "report", "start_error"),
    ):
        if field in out:
            out[field] = [
                {k: v for k, v in each.items() if not (each[name] == what and k == "reason")}
                for each in out[field]
            ]
    return out


def _children(tree: Json, sup: str, rows: Json, level: int) -> Json:
    return rows if level >= 3 and not is_unordered(tree, sup) else sorted(rows, key=_key)


def canonical(case: Case, step: Step, level: int, *, kind: bool) -> Step:
    """Return the part of a step's record that is compared, in canonical order."""
    tree, wanted = case["tree"], case["steps"][step["step"]]
    order = wanted.get("order", "total")

    def result(asked: Json, given: Json) -> Json:
        if asked["do"] == "which_children" and isinstance(given, list):
            return _children(tree, asked["sup"], given, level)
        return given

    out: Step = {"do": step["do"], "result": result(wanted, step["result"])}
    if "meanwhile" in wanted:
        pairs = zip(wanted["meanwhile"], step.get("meanwhile", ()), strict=False)
        out["meanwhile"] = [result(asked, given) for asked, given in pairs]
    if "items" in wanted and step["result"] == "ok":
        pairs = zip(wanted["items"], step.get("results", ()), strict=False)
        out["results"] = [result(asked, given) for asked, given in pairs]
    out["events"] = _events(tree, step["events"], order)
    if level >= 2:
        reports = step["reports"]
        out["reports"] = sorted(reports, key=_key) if order != "total" else reports
    out["tree"] = {
        path: {"children": _children(tree, path, seen["children"], level), "count": seen["count"]}
        for path, seen in sorted(step["tree"].items())
    }
    return _forgive(out) if kind else out


def compare(case: Case, actual: list[Step], level: int = 1, *, kind: bool = True) -> list[str]:
    """Return the differences between a trace of ours and OTP's; none means that it conforms."""
    problems: list[str] = []
    if len(actual) != len(case["trace"]):
        problems.append(f"{case['case']}: {len(actual)} steps instead of {len(case['trace'])}")
    for want, got in zip(case["trace"], actual, strict=False):
        where = f"{case['case']} step {want['step']} ({want['do']})"
        otp, ours = (canonical(case, each, level, kind=kind) for each in (want, got))
        problems += [
            f"{where}: {field}: OTP {json.dumps(otp[field])}, ours {json.dumps(ours.get(field))}"
            for field in otp
            if otp[field] != ours.get(field)
        ]
        limits = case["steps"][want["step"]].get("expect_ms")
        if limits and not limits[0] <= got["ms"] <= limits[1]:
            problems.append(f"{where}: took {got['ms']} ms, expected {limits}")
    return problems
