"""Programs with sub-commands: which words of a call are those, and what the table says. Pure."""

from collections.abc import Iterator

from ..danger.paths import UNKNOWN
from ..danger.risks import Risk
from .calls import Call, Finding, Scope
from .expand import Field
from .tables import VERBS

# Options before the sub-command that take a value as a word of its own.
_VALUED = {
    "git": "-C -c --git-dir --work-tree --namespace",
    "docker": "-H --host --context -l --log-level -f --file -p --project-name",
    "docker-compose": "-f --file -p --project-name --env-file --profile",
    "kubectl": "-n --namespace --context --kubeconfig --cluster -l -o -f -c",
    "helm": "-n --namespace --kube-context",
    "npm": "--prefix -C -w --workspace",
    "pnpm": "-C --dir --filter -F",
    "yarn": "--cwd",
    "cargo": "--manifest-path -Z --color",
    "gh": "-R --repo",
    "terraform": "",
    "poetry": "-C --directory -P --project",
    "uv": "--directory --project --python",
    "gradle": "-p --project-dir -b -c",
    "mvn": "-f -pl -s -P",
    "make": "-C -f -j -I",
    "systemctl": "-n -o -t -p -H -M",
    "apt-get": "-o -t -c",
}
_SAME = {"podman": "docker", "oc": "kubectl", "pip3": "pip", "gradlew": "gradle", "mvnw": "mvn"}


def words_of(call: Call) -> tuple[tuple[Field, ...], bool]:
    """Return sub-command and operands without options, and whether it only asks for help."""
    takers = _VALUED.get(_SAME.get(call.program, call.program), "").split()
    found: list[Field] = []
    rest = iter(call.arguments)
    asks = False
    for each in rest:
        if each.text in takers:
            next(rest, None)
        elif each.text in (
            "--help",
            "-h",
            "--version",
            "-V",
            "--dry-run",
            *("--dry-run=client", "--dry-run=server", "--dry-run=true"),
        ) and UNKNOWN not in "".join(word.text for word in call.arguments):
            asks = True
        elif not each.text.startswith("-"):
            found.append(each)
    return tuple(found), asks


def by_table(call: Call, scope: Scope) -> Iterator[Finding]:
    words, asks = words_of(call)
    known = VERBS[call.program]
    every = known.get("*")
    if asks or not call.arguments or (not words and (every is None or every.category == "ok")):
        return
    for count in (3, 2, 1):
        verb = known.get(" ".join(each.text for each in words[:count]))
        if verb is not None and len(words) >= count:
            if verb.category != "ok":
                yield Risk(verb.category, f"{verb.words} ({named(call, words[:count])})")
            return
    if every is None:
        yield Risk("unclear", f"runs {named(call, words[:2])}, which is not known here")
    elif every.category != "ok":
        yield Risk(every.category, f"{every.words} ({named(call, words[:1])})")


def named(call: Call, words: tuple[Field, ...]) -> str:
    return " ".join((call.program, *(each.shown for each in words)))
