"""What the sources of weather share: one shape of a report, the reading of loose JSON, and the
notes about a place."""
