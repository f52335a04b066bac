"""Feedback: what people think of answers, by two buttons below them where a channel has such. A
press starts no turn."""
