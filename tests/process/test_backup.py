"""``kaiwa backup`` and ``kaiwa restore``: another machine goes on with a store."""

from __future__ import annotations

from pathlib import Path

from tests.bot.store.processes import mode_of
from tests.fakes.gemini import KEY, GeminiFake
from tests.process.kaiwa_process import KaiwaProcess, kaiwa, left_behind
from tests.process.test_restarts import ANY_LINE, write_acting_tool
from tests.waiting import until_true

TALK, ASKING = "conversation-1", "conversation-2"
KEEPING = (
    ("remember", {"text": "likes tea"}),
    ("add_to_list", {"list": "shopping", "items": ["milk"]}),
    ("set_reminder", {"text": "call the bank", "in": "PT5H"}),
)
TOKEN = "a-token-of-their-own"


async def run_command(folder: Path, *arguments: str, code: int, **variables: str) -> str:
    """A command in a folder; the last line that it prints."""
    async with kaiwa(folder, *arguments, ready=ANY_LINE, **variables) as command:
        assert await command.process.wait() == code
    assert "Traceback" not in command.output
    return command.lines[-1]


async def ask_for_permission(running: KaiwaProcess) -> None:
    """A turn that waits for a decision."""
    await running.say(ASKING, "shout hello")

    async def waits() -> bool:
        async with running.browser() as http:
            return "May I" in (await http.get(f"/console/{ASKING}")).text

    await until_true(waits, 20)


async def what_the_model_reads(running: KaiwaProcess, gemini: GeminiFake) -> str:
    """It looks reminders and a list up, and gets the facts."""
    gemini.calls(("list_reminders", {}), ("show_list", {"list": "shopping"}))
    gemini.say("All is here.")
    await running.say(TALK, "What do you know?")
    assert await running.answers(TALK, 2) == ["Kept.", "All is here."]
    return gemini.requests[-1].raw.decode()


async def test_an_empty_machine_goes_on_with_a_backup(tmp_path: Path, gemini: GeminiFake) -> None:
    """Copied while Kaiwa runs: history, facts, lists, reminders and the page's token are there, and
    a question that waited is answered."""
    first, second, file = tmp_path / "first", tmp_path / "second", tmp_path / "kaiwa.zip"
    write_acting_tool(tmp_path / "tools", tmp_path / "done")
    variables = {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "TOOLS_DIR": str(tmp_path / "tools"),
    }
    for folder in (first, second):
        folder.mkdir()
    async with kaiwa(first, "run", **variables) as running:
        (first / "data" / "console_token").write_text(TOKEN)
        gemini.calls(*KEEPING)
        gemini.say("Kept.")
        await running.say(TALK, "Please keep this")
        assert await running.answers(TALK, 1) == ["Kept."]
        gemini.call("shout", {"text": "hello"})
        await ask_for_permission(running)
        said = await run_command(first, "backup", str(file), code=0)
        before = await running.history(TALK)
    assert said.endswith(f"keys in {file}")
    assert mode_of(file) == 0o600
    said = await run_command(second, "restore", str(file), code=0)
    assert said.endswith(f"keys in {second / 'data'}")
    assert (second / "data" / "console_token").read_text() == TOKEN
    async with kaiwa(second, "run", **variables) as running:
        assert await running.history(TALK) == before
        read = await what_the_model_reads(running, gemini)
        assert [word for word in ("likes tea", "milk", "call the bank") if word not in read] == []
        gemini.say("HELLO, as you wished.")
        await running.say(ASKING, "yes")
        assert await running.answers(ASKING, 1) == ["HELLO, as you wished."]
    assert (tmp_path / "done").read_text("utf-8") == "hello"
    assert [left_behind(folder) for folder in (first, second)] == [[], []]


async def test_a_store_that_holds_something_is_replaced_only_on_demand(tmp_path: Path) -> None:
    """Copied and restored while nothing runs; a Kaiwa that runs keeps its store."""
    file = str(tmp_path / "kaiwa.zip")
    async with kaiwa(tmp_path, "run") as running:
        await running.say(TALK, "What is 1 + 2?")
        await running.answers(TALK, 1)
        before = await running.history(TALK)
    await run_command(tmp_path, "backup", file, code=0)
    async with kaiwa(tmp_path, "run") as running:
        await running.say(TALK, "What is 3 + 4?")
        await running.answers(TALK, 2)
        said = await run_command(tmp_path, "restore", file, "--replace", code=2)
        assert "another Kaiwa runs with" in said
    refused = await run_command(tmp_path, "restore", file, code=2)
    assert "keys; --replace deletes them" in refused
    await run_command(tmp_path, "restore", file, "--replace", code=0)
    async with kaiwa(tmp_path, "run") as running:
        assert await running.history(TALK) == before
    assert list((tmp_path / "data").glob("restore-*")) == []
    assert left_behind(tmp_path) == []


async def test_a_redis_of_ones_own_is_not_copied(tmp_path: Path) -> None:
    """It has backups of its own."""
    for command in ("backup", "restore"):
        said = await run_command(
            tmp_path, command, "kaiwa.zip", code=2, REDIS_URL="redis://127.0.0.1:1"
        )
        assert said.startswith("kaiwa: REDIS_URL: only the bundled Valkey is copied")
