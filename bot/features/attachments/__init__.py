"""Attachments: documents that people send are read as text, and pictures that tools make are kept
for a day."""
