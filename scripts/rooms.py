"""Takes features away, and checks that nothing else needs them.

    .venv/bin/python scripts/rooms.py [feature …]

For each feature that Kaiwa can do without, in a copy of the project without its folder, its line
in the registry, and the tests that are about it: the directions of imports, and the quick tests. At
the end the types, with all of them away.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
FEATURES = "bot/features"
LIST = "FEATURES: tuple[str, ...] = (\n"
# Kaiwa cannot do without these: others rest on what they do for people.
NEEDED = (
    "approvals",
    "attachments",
    "courtesy",
    "edits",
    "forgetting",
    "limits",
    "stop",
    "summaries",
)
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".hypothesis", ".coverage*")


def features() -> list[str]:
    """The names of all features."""
    return sorted(path.parent.name for path in (ROOT / FEATURES).glob("*/__init__.py"))


def copy_without(names: Iterable[str], folder: Path) -> None:
    """Copy the project, and take features away."""
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT, symlinks=True)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    registry = folder / FEATURES / "registry.py"
    text = registry.read_text("utf-8")
    for name in names:
        shutil.rmtree(folder / FEATURES / name)
        shutil.rmtree(folder / "tests" / FEATURES / name, ignore_errors=True)
        text = re.sub(rf"^.*\b{name}\b.*\n", "", text, flags=re.MULTILINE)
    registry.write_text(text, "utf-8")
    run(folder, "git", "init", "--quiet")  # some tests look at all files of the project


def add_features(given: Iterable[Path], folder: Path) -> None:
    """Copy the folders of features into a copy of the project, and list them."""
    registry = folder / FEATURES / "registry.py"
    text = registry.read_text("utf-8")
    for path in given:
        shutil.copytree(path, folder / FEATURES / path.name, ignore=LEFT_OUT)
        text = text.replace(LIST, f'{LIST}    "{path.name}",\n')
    registry.write_text(text, "utf-8")


def leave_out_tests(name: str, folder: Path) -> list[str]:
    """Delete the files of tests that import a feature, or name it as ``bot.features.NAME``, its
    tools, its scripts or its buttons, and those that import such files; the names of tests."""
    tools = ROOT / FEATURES / name / "tools.py"
    words = [rf"features\.{name}\b", rf'"{name}\.']
    if tools.is_file():
        words += re.findall(r'(?m)^    name = ("\w+")', tools.read_text("utf-8"))
    texts = {path: path.read_text("utf-8") for path in (folder / "tests").rglob("*.py")}
    found = []
    while words:
        about, words = re.compile("|".join(words)), []
        for path in [path for path, text in texts.items() if about.search(text)]:
            del texts[path]
            path.unlink()
            module = path.relative_to(folder).with_suffix("")
            words.append(rf"from {re.escape('.'.join(module.parts))} import")
            words.append(
                rf"from {re.escape('.'.join(module.parts[:-1]))} import .*\b{module.name}\b"
            )
            if path.name.startswith("test_"):
                found.append(path.relative_to(folder).as_posix())
    return sorted(found)


def run(folder: Path, *command: str) -> bool:
    """Run a program of the environment in a copy; whether it succeeds."""
    path = {"PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}", "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=os.environ | path, check=False)  # noqa: S603
    return done.returncode == 0


def main() -> int:
    """The exit code: 1 if something needs one of the features."""
    names = sys.argv[1:] or [name for name in features() if name not in NEEDED]
    needed = []
    for name in names:
        with TemporaryDirectory() as parent:
            folder = Path(parent) / "kaiwa"
            copy_without([name], folder)
            left_out = leave_out_tests(name, folder)
            print(f"· without {name}, nor {', '.join(left_out) or 'any test'}", flush=True)
            tests = ("pytest", "--quiet", "--numprocesses=auto", "--dist=loadfile", "--quick")
            if not (run(folder, "lint-imports", "--no-logo") and run(folder, *tests)):
                needed.append(name)
    with TemporaryDirectory() as parent:
        folder = Path(parent) / "kaiwa"
        copy_without(names, folder)
        print(f"· types without {', '.join(names)}", flush=True)
        if not run(folder, "mypy", "--no-error-summary", "bot", "toolset"):
            needed.append("all together")
    print(f"needed by something else: {', '.join(needed) or 'none'}")
    return int(bool(needed))


if __name__ == "__main__":
    sys.exit(main())
