"""With which status a command ends. Read before any setting is, so it needs nothing."""

# 0 is done; 1 refused or failed.
FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
