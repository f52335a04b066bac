"""What is said of variables: by the features that read them, of names in ``.env`` that nothing
reads, and of other programs' names for a variable that is not set."""

from __future__ import annotations

from difflib import get_close_matches

from pydantic import BaseModel

from bot.channels.accounts import variables_of
from bot.channels.registry import CHANNELS
from bot.checks import CheckResult
from bot.features.registry import describe_features, load_configs
from bot.plugins import tool_variables
from bot.providers.registry import PROVIDERS
from bot.settings import Settings, env_file_values, environment_value
from toolset.tool import ToolSetupError

PART = "variables"
# A name is similar from this ratio of difflib on.
SIMILAR = 0.75
# What vendors' own libraries and other bots read, and Kaiwa's name for it.
FOREIGN = {
    "GOOGLE_API_KEY": "GEMINI_API_KEY",
    "GOOGLE_GENAI_API_KEY": "GEMINI_API_KEY",
    "GEMINI_KEY": "GEMINI_API_KEY",
    "OPENAI_KEY": "OPENAI_API_KEY",
    "OPENAI_API_BASE": "OPENAI_BASE_URL",
    "CLAUDE_API_KEY": "ANTHROPIC_API_KEY",
    "ANTHROPIC_KEY": "ANTHROPIC_API_KEY",
    "LINE_CHANNEL_TOKEN": "LINE_CHANNEL_ACCESS_TOKEN",
    "LINE_ACCESS_TOKEN": "LINE_CHANNEL_ACCESS_TOKEN",
    "LINE_SECRET": "LINE_CHANNEL_SECRET",
    "SLACK_TOKEN": "SLACK_BOT_TOKEN",
    "SLACK_SECRET": "SLACK_SIGNING_SECRET",
}


def check_variables(settings: Settings) -> list[CheckResult]:
    """What features say of their variables, and ``check_names``.

    Raises:
        SettingsError: a feature's variable is wrong.
    """
    return [*describe_features(settings), *check_names(settings)]


def check_names(settings: Settings) -> list[CheckResult]:
    """A warning for each name in ``.env`` that is like one that is read, and one for all others
    that nothing reads.

    Of the environment, which belongs to all programs, only ``FOREIGN`` names count, while Kaiwa's
    own is not set.
    """
    try:
        known = own_variables() | tool_variables(settings.tools_dir) | variables_of(settings)
    except ToolSetupError:
        # The start ends with this error, and the doctor's check of the tools names it.
        return []
    in_file = env_file_values()

    def is_set(own: str) -> bool:
        return own in in_file or bool(environment_value(own))

    found = [
        CheckResult(
            "warning", PART, f"{name} is set, and nothing reads it", f"set {own} in its place"
        )
        for name, own in FOREIGN.items()
        if name not in known and (name in in_file or (environment_value(name) and not is_set(own)))
    ]
    others = []
    for name in in_file:
        if name in known or name in FOREIGN:
            continue
        if similar := get_close_matches(name, known, 1, SIMILAR):
            what = f"nothing reads {name} of .env"
            found.append(CheckResult("warning", PART, what, f"did you mean {similar[0]}?"))
        else:
            others.append(name)
    if others:
        fix = "see .env.example for the names there are"
        found.append(
            CheckResult("warning", PART, f"of .env, nothing reads: {', '.join(others)}", fix)
        )
    return found


def own_variables() -> set[str]:
    """All variables that Kaiwa itself, its channels, providers and features read."""
    configs: list[type[BaseModel]] = [Settings, *(entry.config for entry in PROVIDERS)]
    configs += [entry.package.Config for entry in CHANNELS]
    configs += load_configs().values()
    return {field.upper() for config in configs for field in config.model_fields}
