"""Real language models and their recorded answers.

A :class:`~compactlab.llm.recorded.Request` is a request to a model, for any purpose. An
:class:`~compactlab.llm.asker.Asker` returns the answer from a recording or, if allowed, from the
endpoint, and records it. Requests and stored answers contain no secrets.
"""
