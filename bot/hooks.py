"""What a hook is made of, for the operator's own code (docs/tools_reference.md)."""

from bot.agent.hooks import Abort, Answer, Hook, Intervention, Proceed, Refuse

__all__ = ["Abort", "Answer", "Hook", "Intervention", "Proceed", "Refuse"]
