"""Language models that are really asked, and what they answered, recorded.

A :class:`~compactlab.llm.request.Request` says what a model is asked, whatever for. An
:class:`~compactlab.llm.asker.Asker` gives the answer: from a recording, or, where it may, from the
endpoint, and then it is recorded. What is asked and what is stored holds no secrets.
"""
