"""Python code given on a command line: whether it only computes, reads and prints. Pure.

A list of what is harmless, not of what is dangerous: whatever is not on it is a risk. Importing is
harmless as running the project's own scripts is; calling into a module is so only where its functions
are known.
"""

import ast
from collections.abc import Iterator

from msgspec import Struct

from ..danger.risks import Risk
from ..danger.sensitive import names_secret

CODE_MAX = 20_000
_MODULES = frozenset(
    """
    abc argparse ast base64 bisect calendar collections copy csv dataclasses datetime decimal difflib enum fractions
    functools hashlib heapq html itertools json keyword locale math numbers operator platform pprint random re
    secrets statistics string struct sys sysconfig textwrap time token tokenize tomllib types typing
    unicodedata uuid zlib zoneinfo numpy pandas tomli
    """.split()  # noqa: SIM905 - a table
)
_BUILTINS = frozenset(
    """
    print len range int float str bool bytes list dict set tuple frozenset sorted reversed enumerate zip map filter
    sum min max abs round any all isinstance issubclass type repr format chr ord hex bin oct divmod pow hash id
    iter next slice complex callable hasattr help property ValueError TypeError Exception exit quit
    """.split()  # noqa: SIM905 - a table
)
# What may be used of modules that are not harmless as a whole.
_FINE = frozenset(
    """
    os.getcwd os.listdir os.cpu_count os.getpid os.uname os.name os.sep os.linesep os.path.exists os.path.join
    os.path.isfile os.path.isdir os.path.abspath os.path.basename os.path.dirname os.path.getsize os.path.realpath
    importlib.metadata.version importlib.util.find_spec pathlib.Path.cwd shutil.which shutil.disk_usage
    socket.gethostname getpass.getuser glob.glob site.getsitepackages
    """.split()  # noqa: SIM905 - a table
)
# Methods that change files, processes or other machines, and modules through which all else is reached.
_NOT = frozenset(
    """
    system popen remove unlink rmdir rmtree replace_file truncate write writelines write_text write_bytes
    chmod chown symlink link mkdir makedirs touch kill fork spawn exec execv execve run check_call check_output
    connect send sendall post put delete patch request urlopen urlretrieve import_module exec_module
    to_csv to_json to_excel to_sql to_pickle to_parquet to_html to_feather to_hdf to_stata save savez savetxt tofile load
    read_pickle dump execute executemany executescript eval query modules environ os subprocess shutil socket builtins
    posix pathlib importlib ctypes io settrace setprofile ctypeslib open fromfile memmap
    """.split()  # noqa: SIM905 - a table
)
_REACHES_ALL = frozenset(
    ("eval", "exec", "compile", "globals", "locals", "vars", "getattr", "setattr", "delattr")
)
_PLAIN = ("__version__", "__file__", "__name__", "__doc__", "__path__")


class _Known(Struct, frozen=True):
    """Names that stand for what is harmless, and for anything else that is imported."""

    harmless: frozenset[str]
    foreign: frozenset[str]
    fine: frozenset[int]


def python_risks(code: str) -> Iterator[Risk]:
    """What running this code puts at risk; nothing where it is seen to be harmless."""
    if len(code) > CODE_MAX:
        yield Risk("code", "runs long Python code")
        return
    try:
        tree = ast.parse(code)
        known = _known(tree)
        faults = [found for node in ast.walk(tree) if (found := _fault(node, known))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield Risk("code", "runs Python code that cannot be read")
        return
    if faults:
        yield Risk("code", f"runs Python code that {faults[0]}")


def _known(tree: ast.AST) -> _Known:
    harmless: set[str] = set()
    foreign: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for each in names:
                    own = foreign if not _is_harmless(each.name) else harmless
                    own.add(each.asname or each.name.partition(".")[0])
            case ast.ImportFrom(module=module, names=names):
                own = harmless if module and _is_harmless(module) else foreign
                own |= {each.asname or each.name for each in names}
            case ast.FunctionDef(name=name):
                harmless.add(name)
            case _:
                pass
    fine = (
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _is_fine(node)
        for inner in ast.walk(node)
    )
    return _Known(frozenset(harmless), frozenset(foreign), frozenset(fine))


def _is_harmless(module: str) -> bool:
    return module.partition(".")[0] in _MODULES


def _is_fine(node: ast.Attribute) -> bool:
    """Tell whether a whole dotted name is one that may be used."""
    names: list[str] = [node.attr]
    inner: ast.expr = node.value
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return False
    dotted = ".".join((inner.id, *reversed(names)))
    return (
        dotted in _FINE
        or node.attr in (*_PLAIN, "get_version")
        or dotted in ("json.load", "tomllib.load")
    )


def _fault(node: ast.AST, known: _Known) -> str:
    """Say what about a node may do harm; empty if nothing."""
    if id(node) in known.fine:
        return ""
    match node:
        case ast.ImportFrom(names=names) if any(each.name == "*" for each in names):
            return "imports whatever there is"
        case ast.Call(func=ast.Name(id="open")):
            return _opened(node)
        case ast.Call(func=ast.Name(id=name)):
            ours = name in _BUILTINS or name in known.harmless
            return "" if ours else f"calls {name}"
        case ast.Call(func=ast.Attribute()):
            return ""
        case ast.Call():
            return "calls what it computes"
        case ast.Attribute(attr=name) if name in _NOT or name.startswith("_"):
            return f"uses {name}"
        case ast.Name(id=name) if name in known.foreign or name in _REACHES_ALL:
            return f"uses {name}"
        case ast.Name(id=name) if name.startswith("__") and name != "__name__":
            return f"uses {name}"
        case ast.Constant(value=str(text)) if text.startswith(("/etc/", "/root", "/proc/")):
            return f"names {text}"
        case _:
            return ""


def _opened(call: ast.Call) -> str:
    """``open`` for reading a file of the workspace."""
    path = call.args[0] if call.args else None
    mode = call.args[1] if len(call.args) > 1 else None
    mode = next((each.value for each in call.keywords if each.arg == "mode"), mode)
    if not isinstance(path, ast.Constant) or not isinstance(path.value, str):
        return "opens a file that is known only when it runs"
    name = path.value
    if name.startswith(("/", "~", ".")) or ".." in name or names_secret(name):
        return f"opens {name}"
    if mode is None or (isinstance(mode, ast.Constant) and mode.value in ("r", "rb", "rt")):
        return ""
    return f"writes to {name}"
