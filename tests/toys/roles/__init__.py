"""Roles: in some places the bot is somebody else."""
