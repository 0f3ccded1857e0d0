"""Package managers, and tools of development that run the project's own code. Pure."""

import re
from collections.abc import Iterator

from ..danger.paths import UNKNOWN, Where, place_of
from ..danger.risks import Risk
from ..patterns import lazy_pattern
from .calls import Call, Finding, Handler, Runs, Scope, options, writes
from .code import RELEASING, is_releasing
from .expand import Field
from .subcommands import by_table, named, words_of
from .tables import VERBS

# ---------------------------------------------------------------- packages


def _packages(call: Call, scope: Scope) -> Iterator[Finding]:
    """npm and its like: what the project says may be installed, another package is a question."""
    words, asks = words_of(call)
    texts = [each.text for each in words]
    verb = texts[0] if texts else ""
    flags = {each.text for each in call.arguments}
    if asks:
        return
    if flags & {"-g", "--global", "--location=global"} or verb == "global":
        yield Risk("install", f"changes programs of the machine ({named(call, words[:2])})")
    elif verb in ("install", "i", "add", "in", "isntall") and len(words) > 1:
        yield Risk("install", f"installs {', '.join(each.shown for each in words[1:])}")
    elif verb in ("remove", "uninstall", "rm", "un", "r"):
        yield Risk("delete", f"removes packages ({named(call, words[:3])})")
    elif verb in ("run", "run-script", "rum") and len(words) > 1:
        yield from _project_task(words[1])
    elif verb in ("exec", "x", "dlx"):
        yield Runs((Field("npx"), *call.arguments[_place(call, verb) + 1 :]))
    elif verb in ("config", "set") and any(each in ("set", "delete", "edit") for each in texts):
        yield Risk("config", "changes how packages are fetched and published")
    elif call.program in ("yarn", "bun", "pnpm") and verb and verb not in VERBS[call.program]:
        # These run a script of the project by its bare name.
        yield from _project_task(Field(verb))
    else:
        yield from by_table(call, scope)
    yield from _registry(call, scope)


def _project_task(name: Field) -> Iterator[Risk]:
    if RELEASING.search(name.text) or not name.known:
        yield Risk("publish", f"runs the project's {name.shown}")


def _place(call: Call, word: str) -> int:
    return next((at for at, each in enumerate(call.arguments) if each.text == word), 0)


def _registry(call: Call, scope: Scope) -> Iterator[Risk]:
    for each in call.arguments:
        if re.match(r"--(?:index-url|extra-index-url|registry|trusted-host|find-links)", each.text):
            yield Risk("install", "takes packages from another place than usual")
            return


def _npx(call: Call, scope: Scope) -> Iterator[Finding]:
    """npx runs what the project has, and fetches what it has not."""
    words = [each for each in call.arguments if not each.text.startswith("-")]
    packaged = any(each.text in ("-p", "--package", "-c", "--call") for each in call.arguments)
    name = words[0].text if words else ""
    asks = any(each.text in ("--version", "--help") for each in call.arguments[:1])
    if (packaged or name not in _KNOWN_TOOLS) and not asks:
        yield Risk("install", f"fetches and runs {words[0].shown if words else 'a package'}")


_OWN_FOLDER = lazy_pattern(r"\.{1,2}/(?!.*\.(?:whl|zip|gz|bz2|xz|tar)$).*|\.\[.*")


def _pip(call: Call, scope: Scope) -> Iterator[Finding]:
    """pip: what the project lists may be installed, another package is a question."""
    words, asks = words_of(call)
    verb = words[0].text if words else ""
    if asks:
        return
    if verb == "install" and call.program != "pipx":
        given = options(call, "rcetif", ("--requirement", "--constraint", "--editable", "--target"))
        named = [each for each in given.operands[1:] if each.text not in (".", "./")]
        sources = given.of("-e", "--editable", "-r", "--requirement")
        outside = [
            each
            for each in (*sources, *named)
            if "://" in each.text
            or any(place.where is not Where.INSIDE for place in scope.places(each.text))
        ]
        project = [each for each in named if not _OWN_FOLDER.fullmatch(each.text)]
        for each in dict.fromkeys((*project, *outside)):
            yield Risk("install", f"installs {each.shown}")
        if given.has("--break-system-packages", "--target", "-t", "--user"):
            yield Risk("install", "installs outside of the project's environment")
        if not (named or sources or given.operands[1:]):
            yield Risk("unclear", "installs what is not named")
    elif verb in ("config", "cache"):
        reading = len(words) > 1 and words[1].text in ("list", "get", "debug", "dir", "info")
        if not reading:
            yield Risk("config" if verb == "config" else "delete", f"changes pip's {verb}")
    else:
        yield from by_table(call, scope)
    yield from _registry(call, scope)


# ---------------------------------------------------------------- runners of other programs

_RUNNERS = {
    "poetry": ("run",),
    "pdm": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "pipenv": ("run",),
    "uv": ("run",),
    "conda": ("run",),
    "mamba": ("run",),
    "bundle": ("exec",),
    "composer": ("exec",),
    "mise": ("exec", "x"),
    "asdf": ("exec",),
    "direnv": ("exec",),
}
_RUN_VALUED = ("--with", "--python", "-p", "-n", "-m", "--package", "--extra", "--group", "-e")


def _runner(call: Call, scope: Scope) -> Iterator[Finding]:
    """poetry run and its like: the program behind it counts."""
    words, _ = words_of(call)
    verb = words[0].text if words else ""
    if verb not in _RUNNERS[call.program]:
        if call.program == "uv" and [each.text for each in words[:2]] == ["pip", "install"]:
            yield Runs((Field("pip"), *call.arguments[_place(call, "pip") + 1 :]))
        elif call.program in VERBS:
            yield from by_table(call, scope)
        else:
            yield Risk("unclear", f"runs {named(call, words[:2])}, which is not known here")
        return
    rest = list(call.arguments[_place(call, verb) + 1 :])
    while rest and rest[0].text.startswith("-"):
        word = rest.pop(0).text
        if word == "--with" or word.startswith("--with="):
            yield Risk("install", "fetches packages before it runs")
        if word in _RUN_VALUED and rest:
            rest.pop(0)
    if call.program == "direnv":
        rest = rest[1:]  # the folder whose settings it takes
    if rest and "://" in rest[0].text:
        yield Risk("install", f"fetches and runs {rest[0].shown}")
    elif rest and rest[0].text.endswith(".py"):
        yield Runs((Field("python"), *rest))
    elif rest:
        yield Runs(tuple(rest))


def _go(call: Call, scope: Scope) -> Iterator[Finding]:
    """Go: a package with a version is fetched, whatever the project lists."""
    words, _ = words_of(call)
    if words and words[0].text == "run":
        for each in words[1:2]:
            if "@" in each.text or not each.known:
                yield Risk("install", f"fetches and runs {each.shown}")
    yield from by_table(call, scope)


# ---------------------------------------------------------------- building


def _foreign(scope: Scope) -> Iterator[Risk]:
    """What is run by the rules of a folder is run by whoever wrote those."""
    for each in scope.directories:
        where = place_of(".", each, scope.limits.workspace).where
        if where not in (Where.INSIDE, Where.SCRATCH):
            yield Risk(
                "code", f"runs what is in {each.replace(UNKNOWN, '…')}, outside the workspace"
            )


_SEVERAL = lazy_pattern(r"[;|&`\n]")
"""What ends a command in a value that a rule puts into its own."""


def _make(call: Call, scope: Scope) -> Iterator[Finding]:
    words, asks = words_of(call)
    if any(each.text.startswith(("--eval", "-E", "SHELL=")) for each in call.arguments):
        yield Risk("code", "has make run a text of its own")
    for each in call.arguments:
        name, equals, value = each.text.partition("=")
        if equals and name.isidentifier() and _SEVERAL.search(value):
            yield Risk("code", f"gives make a command of its own in {name}")
    for path in options(call, "CfIj", ("--directory", "--file")).of("-C", "--directory", "-f"):
        if path.text in ("-", "/dev/stdin"):
            yield Risk("code", "has make run rules that another command prints")
            continue
        if any(place.where is not Where.INSIDE for place in scope.places(path.text)):
            yield Risk("code", f"runs rules from {path.shown}, outside the workspace")
    asks = asks or any(e.text in ("-n", "--just-print", "--recon") for e in call.arguments)
    yield from _foreign(scope)
    for each in words if not asks else ():
        if RELEASING.search(each.text) or not each.known:
            yield Risk("publish", f"makes {each.shown}, which by its name changes more than files")


_OUT = lazy_pattern(
    r"-o|--out(?:put)?(?:-?(?:file|dir|directory|path))?|--outdir|--outFile|--outDir|--prefix|--target-dir|--dest(?:ination)?"
)


def _builds(call: Call, scope: Scope) -> Iterator[Finding]:
    """A tool of development: it runs the project's code and writes inside; other targets count."""
    yield from _foreign(scope)
    if given := _command_given(call):
        yield Runs(given)
    if call.program == "cmake" and any(
        each.text in ("--install", "install") for each in call.arguments
    ):
        yield Risk("install", "installs what was built")
    for at, each in enumerate(call.arguments):
        name, equals, value = each.text.partition("=")
        if _OUT.fullmatch(name):
            following = call.arguments[at + 1] if at + 1 < len(call.arguments) else Field("")
            yield from writes(scope, Field(value) if equals else following)
        elif call.program in _TASKS and is_releasing(name):
            yield Risk("publish", f"runs the task {each.shown}")
        elif name.startswith(("/", "~")) and call.program in _CHANGERS:
            yield from writes(scope, each, "changes")


def _command_given(call: Call) -> tuple[Field, ...]:
    """Return the words of a command that a tool of development is told to run; most run the project's."""
    texts = [each.text for each in call.arguments]
    for at, text in enumerate(texts):
        if call.program in ("lerna", "nx") and text == "exec":
            begins = texts.index("--", at) + 1 if "--" in texts[at:] else at + 1
            return call.arguments[begins:]
        if call.program == "nodemon" and text in ("-x", "--exec"):
            return call.arguments[at + 1 :]
    return ()


_TASKS = frozenset(
    """ninja meson rake invoke inv fab just task nox tox gulp grunt nx turbo lerna fastlane rails artisan django-admin alembic flask celery""".split()  # noqa: SIM905 - a table
)
_CHANGERS = frozenset(
    """black isort autopep8 yapf ruff prettier gofmt rustfmt shfmt pyupgrade""".split()  # noqa: SIM905 - a table
)
_DEV = """
    pytest py.test tox nox ruff black isort autopep8 yapf flake8 pylint pyflakes pycodestyle pydocstyle mypy pyright
    basedpyright pytype coverage bandit vulture radon pyupgrade lint-imports sphinx-build pdoc pre-commit behave
    hypothesis nosetests green unittest trial django-admin flask uvicorn gunicorn hypercorn celery alembic-heads
    build cython cythonize maturin jupytext nbconvert pip-compile pip-audit safety interrogate codespell
    tsc tsx ts-node eslint prettier jest vitest mocha ava karma cypress playwright webpack vite rollup esbuild parcel
    next nuxt ng svelte-kit astro turbo nx lerna stylelint standard biome swc babel nodemon storybook depcheck
    knip c8 nyc commitlint markdownlint markdownlint-cli2 tailwindcss postcss sass lessc
    rustc rustfmt cargo-clippy gofmt goimports golangci-lint staticcheck gotestsum
    gcc g++ cc c++ clang clang++ clang-format clang-tidy ld ar as cmake ctest cpack ninja meson autoconf automake
    autoreconf configure pkg-config gcov lcov cppcheck bison flex protoc buf swig
    javac kotlinc scalac swiftc ghc stack cabal ocaml dune elm elixirc erlc rebar3 zig nim crystal dart flutter
    rspec rake rubocop minitest rails phpunit phpstan psalm php-cs-fixer pest artisan
    shellcheck shfmt hadolint yamllint actionlint checkov tflint ansible-lint vale proselint typos
    just task invoke inv fab gulp grunt fastlane doxygen pandoc pdflatex latexmk asciidoctor dot plantuml mmdc
    ffmpeg ffprobe convert magick sips gs
"""
_KNOWN_TOOLS = frozenset(_DEV.split()) - {"fastlane", "serverless"}


PACKAGES: dict[str, Handler] = {
    **dict.fromkeys(_KNOWN_TOOLS, _builds),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _packages),
    **dict.fromkeys(("npx", "bunx", "pnpx", "uvx"), _npx),
    **dict.fromkeys(("pip", "pip3", "pipx"), _pip),
    **dict.fromkeys(_RUNNERS, _runner),
    **dict.fromkeys(("make", "gmake"), _make),
    "go": _go,
}
