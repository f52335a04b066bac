"""Markdown as models write it becomes elements, and everything else stays the text it is."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.browser.visit import visit
from tests.fakes.site import Site

RENDER = """async (texts) => {
  const { renderMarkdown } = await import("/static/markdown.js");
  const container = document.createElement("div");
  for (const text of texts) renderMarkdown(container, text);
  for (const element of container.querySelectorAll("*")) {
    for (const name of ["tabindex", "target", "rel"]) element.removeAttribute(name);
  }
  return container.innerHTML;
}"""

BLOCKS = {
    "": "",
    "One\ntwo\n\nthree": "<p>One<br>two</p><p>three</p>",
    "One\r\n\r\n\r\ntwo": "<p>One</p><p>two</p>",
    "# One\n## Two ##\n####### no": "<h2>One</h2><h3>Two</h3><p>####### no</p>",
    "#no": "<p>#no</p>",
    "text\n# Head": "<p>text</p><h2>Head</h2>",
    "a\n\n---\n\nb": "<p>a</p><hr><p>b</p>",
    "* * *": "<hr>",
    "```python\n# a\n\n**b**\n```\nafter": "<figure><pre><code># a\n\n**b**</code></pre></figure><p>after</p>",
    "````\n```\n````": "<figure><pre><code>```</code></pre></figure>",
    "~~~\nstill open": "<figure><pre><code>still open</code></pre></figure>",
    "- a\n- b\n  - c\n- d": "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>",
    "1. a\n   - b\n2. c": "<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>",
    "3) a\n4) b": '<ol start="3"><li>a</li><li>b</li></ol>',
    "- a\n\n- b": "<ul><li><p>a</p></li><li><p>b</p></li></ul>",
    "- a\n\n  more\n\nafter": "<ul><li><p>a</p><p>more</p></li></ul><p>after</p>",
    "- a\nlazy\n- b": "<ul><li>a<br>lazy</li><li>b</li></ul>",
    "- a\n1. b": "<ul><li>a</li></ul><ol><li>b</li></ol>",
    "- a\n# Head": "<ul><li>a</li></ul><h2>Head</h2>",
    "- ```\n  code\n  ```": "<ul><li><figure><pre><code>code</code></pre></figure></li></ul>",
    "text:\n- a": "<p>text:</p><ul><li>a</li></ul>",
    "In\n2024. A year": "<p>In<br>2024. A year</p>",
    "-": "<ul><li></li></ul>",
    "> a\n> - b\n\nafter": "<blockquote><p>a</p><ul><li>b</li></ul></blockquote><p>after</p>",
    "| a | b |\n|---|--:|\n| `|` | **2** |\n| \\| |": (
        '<div class="table"><table><thead><tr><th class="start">a</th><th '
        'class="end">b</th></tr></thead><tbody>'
        '<tr><td class="start"><code>|</code></td><td class="end"><strong>2</strong></td></tr>'
        '<tr><td class="start">|</td><td class="end"></td></tr></tbody></table></div>'
    ),
    "a | b\n:-: | -\n": (
        '<div class="table"><table><thead><tr><th class="center">a</th><th '
        'class="start">b</th></tr></thead>'
        "</table></div>"
    ),
    "a | b\n---": "<p>a | b</p><hr>",
    "<b>a</b> &amp; <!-- c -->": "<p>&lt;b&gt;a&lt;/b&gt; &amp;amp; &lt;!-- c --&gt;</p>",
}

INLINE = {
    "**a** __b__ *c* _d_ ~~e~~": "<strong>a</strong> <strong>b</strong> <em>c</em> <em>d</em> <del>e</del>",
    "***a*** **b *c***": "<em><strong>a</strong></em> <strong>b <em>c</em></strong>",
    "*a **b** c*": "<em>a <strong>b</strong> c</em>",
    "これは**「東京」**です": "これは<strong>「東京」</strong>です",
    "snake_case_name and 2*3*4 and 2 * 3 * 4": "snake_case_name and 2*3*4 and 2 * 3 * 4",
    "**open and *open": "**open and *open",
    "** a ** b": "** a ** b",
    "`a*b*` ``c`d`` `` ` `` `open": "<code>a*b*</code> <code>c`d</code> <code>`</code> `open",
    "**a `**` b**": "<strong>a <code>**</code> b</strong>",
    "\\*a\\* \\[b\\](c) \\d": "*a* [b](c) \\d",
    "[a *b*](https://x.test/ 'title')": '<a href="https://x.test/">a <em>b</em></a>',
    "f[0](x) [a](/b) (1*2*3)": "f[0](x) [a](/b) (1*2*3)",
    "[![cat](https://x.test/c)](https://x.test)": '<a href="https://x.test/">cat</a>',
    "見てhttps://x.test/です": '見て<a href="https://x.test/">https://x.test/</a>です',
    "[a [b] c](https://x.test/(d))": '<a href="https://x.test/(d)">a [b] c</a>',
    "list[ [a](https://x.test/)": 'list[ <a href="https://x.test/">a</a>',
    "[1] and [a] (b)": "[1] and [a] (b)",
    "![cat](https://x.test/c.png)!": '<a href="https://x.test/c.png">cat</a>!',
    "[](https://x.test/)": '<a href="https://x.test/">https://x.test/</a>',
    "[a](mailto:a@x.test)": "a",
    "See https://x.test/a_b_(c). (https://x.test/d)": (
        'See <a href="https://x.test/a_b_(c)">https://x.test/a_b_(c)</a>. (<a '
        'href="https://x.test/d">https://x.test/d</a>)'
    ),
    "https://x.test/あ": '<a href="https://x.test/">https://x.test/</a>あ',
    "<https://x.test/>, xhttps://x.test, https://": '<a href="https://x.test/">https://x.test/</a>, xhttps://x.test, https://',
    "<https://x.test/ y>": '&lt;<a href="https://x.test/">https://x.test/</a> y&gt;',
    "<https://x.test/%E2%80%AEa>": '<a href="https://x.test/%E2%80%AEa">https://x.test/%E2%80%AEa</a>',
    "<https://xn--80ak6aa92e.test/>": '<a href="https://xn--80ak6aa92e.test/">https://xn--80ak6aa92e.test/</a>',
    "**https://x.test/**": '<strong><a href="https://x.test/">https://x.test/</a></strong>',
}

HOSTILE = [
    "*a " * 9000,
    "**a *b " * 4000,
    "_a" * 9000,
    "[" * 9000,
    "[a](" * 6000,
    "`" * 9000,
    "` `` ``` " * 3000,
    "\\" * 9000,
    "h" * 9000,
    "<http://" * 3000,
    "# " + " " * 9000 + "x",
    "|" * 9000 + "\n" + "|-" * 9000,
    "- " * 9000,
    "> " * 9000,
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    async with Site().open() as site, visit(browser, site.url) as page:
        yield page


@pytest.mark.parametrize(("text", "html"), BLOCKS.items())
async def test_blocks(page: Page, text: str, html: str) -> None:
    """Paragraphs, headings, code, lists, quotes, tables and rules."""
    assert await page.evaluate(RENDER, [text]) == html


@pytest.mark.parametrize(("text", "html"), INLINE.items())
async def test_words_within_a_line(page: Page, text: str, html: str) -> None:
    """Emphasis, code and links, also where Japanese leaves no spaces, and nothing where somebody
    only calculates."""
    assert await page.evaluate(RENDER, [text]) == f"<p>{html}</p>"


async def test_a_growing_answer_ends_as_if_it_had_come_at_once(page: Page) -> None:
    """However the stream is cut, the last state is the whole text's."""
    text = "\n\n".join(text for text in BLOCKS if text)
    growing = [text[:end] for end in range(0, len(text), 7)]
    assert await page.evaluate(RENDER, [*growing, text]) == await page.evaluate(RENDER, [text])
    assert await page.evaluate(RENDER, [text, "short"]) == "<p>short</p>"


async def test_blocks_that_stay_the_same_stay_in_place(page: Page) -> None:
    """What somebody has selected in a growing answer is not taken away."""
    stored = await page.evaluate(
        """async () => {
          const { renderMarkdown } = await import("/static/markdown.js");
          const container = document.createElement("div");
          renderMarkdown(container, "One\\n\\nTw");
          const [one, two] = container.children;
          renderMarkdown(container, "One\\n\\nTwo\\n\\nThree");
          return [one === container.children[0], two === container.children[1], container.textContent];
        }"""
    )
    assert stored == [True, False, "OneTwoThree"]


async def test_deep_nesting_ends(page: Page) -> None:
    """A thousand quotes in one another are shown as they are written."""
    html = await page.evaluate(RENDER, [f"{'> ' * 1000}deep"])
    assert html == f"<p>{'&gt; ' * 1000}deep</p>"
    html = await page.evaluate(RENDER, ["*a " * 500 + "deep" + " a*" * 500])
    assert html.count("<em>") == 6
    assert "deep" in html


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:8])
async def test_hostile_texts_do_not_hold_up_the_page(page: Page, text: str) -> None:
    """The work grows with the text, not with its square: nothing here takes a second."""
    took = await page.evaluate(
        """async (text) => {
          const { renderMarkdown } = await import("/static/markdown.js");
          const started = performance.now();
          renderMarkdown(document.createElement("div"), text);
          return performance.now() - started;
        }""",
        text,
    )
    assert took < 1000
