"""The wiring of ForkFlux: settings, addresses, server and command line; it may import any other app."""
