"""A program of any language as a strategy: ``exec('node my-compactor.mjs')``.

``protocol.py`` has the messages, ``process.py`` the program that runs, ``answer.py`` makes views of
what it answers, and ``exec.py`` is the strategy.
"""
