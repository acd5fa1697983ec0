"""A program of any language as a strategy: ``exec('node my-compactor.mjs')``.

``protocol.py`` has the messages, ``process.py`` the running program, ``answer.py`` converts answers
to views, and ``exec.py`` is the strategy.
"""
