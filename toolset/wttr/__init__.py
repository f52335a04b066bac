"""Speaks to wttr.in: asks within a time budget, reads its answer, keeps it a while, and judges which place it means."""
