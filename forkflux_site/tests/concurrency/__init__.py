"""Many processes on one board: what must hold when they meet, on both databases, over real HTTP."""
