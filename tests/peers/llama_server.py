"""Serve one file of weights with the server of llama.cpp, as `xllamacpp` carries it: FILE PORT WINDOW."""

from __future__ import annotations

import signal
import sys

import xllamacpp


def main(weights: str, port: str, window: str) -> None:
    """Serve until somebody ends the process."""
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {"smollm2"}
    params.n_ctx, params.n_parallel = int(window), 1
    params.n_gpu_layers, params.fit_params, params.warmup, params.ui = 0, False, False, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # More of them would wait for each other.
    params.hostnames, params.port = ["127.0.0.1"], int(port)
    params.verbosity = -1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
