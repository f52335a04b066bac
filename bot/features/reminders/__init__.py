"""Reminders and routines: texts that are shown, tasks that are done, when their time has come."""
