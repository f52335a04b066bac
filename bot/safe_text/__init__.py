"""Untrusted text made safe to show: arguments of tool calls, display names, deceptive
characters."""
