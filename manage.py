#!/usr/bin/env python3
"""The `forkflux` command run from a checkout; it lists Django's own commands as well."""

import sys

from forkflux_site.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv, show_django_commands=True))
