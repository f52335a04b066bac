"""Approvals: before a call that acts is made, models may vote on it, and a person is asked."""
