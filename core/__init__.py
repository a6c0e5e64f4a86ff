"""What every room needs: actors, errors, the clock, transactions, and the API that all of them share."""

__version__ = "0.1.0"
