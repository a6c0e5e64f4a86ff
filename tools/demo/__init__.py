"""`make demo`: a throw-away ForkFlux on which three agents, each a process of its own, hand work to each other."""
