"""Files that go with a message: chosen, pasted or dropped, with a preview, and shown with the
message afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import FilePayload, Page, async_playwright, expect

from bot.channels.console.inbound import MOST_UPLOAD
from bot.file_types import MIB
from bot.transcript import Media, Text
from tests.browser.conftest import FLAGS, find_chromium
from tests.browser.test_looks import PHONE
from tests.browser.visit import ALERT, ask, expect_text, press, say, visit
from tests.fakes.mcp_server import PNG
from tests.fakes.site import Site

PICTURE = FilePayload(name="cat.png", mimeType="image/png", buffer=PNG)
NOTES = FilePayload(name="notes.md", mimeType="text/markdown", buffer=b"# Notes")

# A paste or a drop, as a browser makes it of a file.
GIVE = """async ([kind, name, type, base64, more]) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], name, { type }));
    for (const [format, text] of more) data.setData(format, text);
    const options = { bubbles: true, cancelable: true, [kind === "paste" ? "clipboardData" : "dataTransfer"]: data };
    const event = new (kind === "paste" ? ClipboardEvent : DragEvent)(kind, options);
    document.querySelector(kind === "paste" ? "#box" : "#log").dispatchEvent(event);
    return event.defaultPrevented;
}"""


async def give(page: Page, kind: str, *more: tuple[str, str]) -> bool:
    """Paste or drop the picture; whether the page has taken it."""
    base64 = await page.evaluate("bytes => btoa(String.fromCharCode(...bytes))", list(PNG))
    taken: bool = await page.evaluate(GIVE, [kind, "cat.png", "image/png", base64, more])
    return taken


async def choose(page: Page, *files: FilePayload) -> None:
    """Choose files by the button."""
    async with page.expect_file_chooser() as choosing:
        await press(page, "Attach files")
    await (await choosing.value).set_files(list(files))


async def test_chosen_files_go_with_the_message(site: Site, page: Page) -> None:
    """The model gets them by reference; the page shows a picture, of others the name, also after a
    reload."""
    await choose(page, PICTURE, NOTES)
    await expect(page.locator("#attached li[aria-busy=false]")).to_have_count(2)
    await expect(page.locator("#attached img")).to_have_count(1)
    turn = await ask(site, page, "What is this?")
    text, picture, notes = turn.asked.parts
    assert text == Text("What is this?")
    assert isinstance(picture, Media)
    assert isinstance(notes, Media)
    assert (picture.mime, picture.size, picture.name) == ("image/png", len(PNG), "cat.png")
    assert (notes.mime, notes.size, notes.name) == ("text/plain", 7, "notes.md")
    assert [media.ref for media in (picture, notes)] == [ref for _, ref in site.uploads.stored]
    for _ in range(2):
        await expect(page.locator(".user img")).to_have_js_property("naturalWidth", 1)
        await expect_text(page, ".user pre", "notes.md")
        await turn.answers("A cat.")
        await expect(page.locator(".answer").last).to_have_text("A cat.")
        await page.reload()
    await expect(page.locator("#attached")).to_be_hidden()


@pytest.mark.parametrize("kind", ["paste", "drop"])
async def test_a_pasted_or_dropped_picture_is_taken(site: Site, page: Page, kind: str) -> None:
    """The browser does not leave the page for it; it may be the whole message."""
    assert await give(page, kind)
    await expect(page.locator("#attached img")).to_have_js_property("naturalWidth", 1)
    await press(page, "Send")
    [media] = (await site.arrival()).message.parts
    assert isinstance(media, Media)
    assert site.uploads.stored[f"console:{await conversation(page)}", media.ref].data == PNG


async def conversation(page: Page) -> Any:
    """The id of the page's conversation."""
    return await page.evaluate("localStorage.getItem('kaiwa.conversation')")


async def test_words_copied_from_a_document_stay_words(page: Page) -> None:
    """Office programs add a picture of them to the clipboard."""
    assert not await give(page, "paste", ("text/plain", "words"), ("text/html", "<b>words</b>"))
    await expect(page.locator("#attached")).to_be_hidden()


async def test_a_file_can_be_removed(page: Page) -> None:
    """Before it is sent; then there is nothing to send, and another conversation does not get it
    either."""
    await choose(page, PICTURE)
    await expect(page.get_by_role("button", name="Send")).to_be_enabled()
    await press(page, "Remove cat.png")
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await choose(page, PICTURE)
    await press(page, "New conversation")
    await expect(page.locator("#attached")).to_be_hidden()


@pytest.mark.parametrize(
    ("profile", "name", "content", "sentence"),
    [
        ({}, "big.png", b"x" * (MOST_UPLOAD + 1), "big.png is too large: 8 MB are the limit."),
        (
            {"locale": "ja"},
            "big.md",
            b"x" * (2 * MIB + 1),
            "big.md：ファイルが大きすぎます。2 MB まで送信できます。",
        ),
        ({}, "cat.png", b"<html>", "cat.png is empty, damaged, or not what its name says."),
    ],
    ids=["the page's limit", "the limit of its kind", "no picture"],
)
async def test_a_file_that_is_not_taken_is_told(
    site: Site, page: Page, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    """By the page before it is sent, or by the server; in the reader's language."""
    file = tmp_path / name
    file.write_bytes(content)
    await page.locator("#picker").set_input_files(file)
    await expect_text(page, ALERT, sentence)
    await expect(page.locator("#attached")).to_be_hidden()
    assert site.uploads.stored == {}


@pytest.mark.parametrize("profile", [{"viewport": {"width": 375, "height": 667}}])
async def test_a_long_name_fits_a_phone(page: Page) -> None:
    """The button that removes the file stays in sight."""
    named = FilePayload(name="word " * 30 + ".md", mimeType="text/markdown", buffer=b"x")
    await choose(page, named)
    await expect(page.locator("#attached button")).to_be_in_viewport(ratio=1)
    assert await page.evaluate("document.documentElement.scrollWidth") == 375


async def test_no_more_files_are_taken_than_the_server_takes(page: Page) -> None:
    """The first four stay."""
    await choose(page, *[PICTURE] * 5)
    await expect_text(page, ALERT, "At most 4 files go with one message.")
    await expect(page.locator("#attached li")).to_have_count(4)


async def test_files_of_a_message_that_was_not_sent_are_given_back(site: Site, page: Page) -> None:
    """With its words; sent again, it is the same message."""
    await choose(page, PICTURE)
    await expect(page.locator("#attached li[aria-busy=false]")).to_have_count(1)
    site.away = True
    await say(page, "What is this?")
    await expect(page.locator("#attached li")).to_have_count(1)
    site.away = False
    await page.locator("#box").press("Enter")
    assert len((await site.arrival()).message.parts) == 2


SPEAK = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]


async def test_a_recording_goes_with_the_message(site: Site) -> None:
    """From the microphone: one press begins it, the next ends it."""
    chromium = find_chromium()
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=chromium, args=[*FLAGS, *SPEAK])
        async with visit(launched, site.url, permissions=["microphone"]) as page:
            await press(page, "Record from the microphone")
            await expect(page.locator("#record")).to_have_attribute("aria-pressed", "true")
            await press(page, "End the recording")
            await expect(page.locator("#attached li[aria-busy=false]")).to_have_count(1)
            await page.locator("#send").click()
            [media] = (await site.arrival()).message.parts
            assert isinstance(media, Media)
            assert media.mime == "audio/webm"
            assert media.size > 0
        await launched.close()


async def test_without_a_microphone_it_is_said(site: Site, page: Page) -> None:
    """With the mend; nothing is attached."""
    await press(page, "Record from the microphone")
    await expect(page.locator(ALERT)).to_contain_text("The microphone cannot be used.")
    await expect(page.locator("#attached")).to_be_hidden()


@pytest.mark.parametrize("profile", [PHONE])
async def test_a_phone_takes_a_picture(site: Site, page: Page) -> None:
    """By its camera; at a desk no such button is shown."""
    async with page.expect_file_chooser() as choosing:
        await page.get_by_role("button", name="Take a picture").tap()
    await (await choosing.value).set_files(PICTURE)
    await expect(page.locator("#attached img")).to_have_count(1)
    assert await page.locator("#camera_picker").get_attribute("capture") == "environment"


async def test_a_desk_has_no_camera_button(page: Page) -> None:
    """Its files are chosen, dropped or pasted."""
    await expect(page.locator("#camera")).to_be_hidden()
