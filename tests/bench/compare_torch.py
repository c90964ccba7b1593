#!/usr/bin/python3
"""Times torch.autograd.gradcheck and chalkgrad's gradcheck on the same programs, and prints the ratios (processor time, one
thread).

    apt-get install python3-torch
    ninja -C build/release chalkgrad-bench-gradcheck
    tests/bench/compare_torch.py build/release/tests/bench/chalkgrad-bench-gradcheck
"""
import json
import subprocess
import sys
import time

import torch

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
torch.manual_seed(1)


def rms_norm(x, gamma, eps=1e-5):
    return gamma * x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)


def sinkhorn(m, rounds=20):
    for _ in range(rounds):
        m = m - torch.logsumexp(m, -1, keepdim=True)
        m = m - torch.logsumexp(m, -2, keepdim=True)
    return m.exp()


def block(x, n1, wq, wk, wv, wo, n2, w_gate, w_up, w_down, heads=4):
    t, d = x.shape
    split = lambda a: a.reshape(t, heads, d // heads).transpose(0, 1)
    h = rms_norm(x, n1)
    q, k, v = split(h @ wq), split(h @ wk), split(h @ wv)
    mask = torch.full((t, t), float("-inf")).triu(1)
    p = torch.softmax(q @ k.transpose(1, 2) / (d // heads) ** 0.5 + mask, -1)
    x = x + (p @ v).transpose(0, 1).reshape(t, d) @ wo
    h = rms_norm(x, n2)
    return x + (torch.nn.functional.silu(h @ w_gate) * (h @ w_up)) @ w_down


def leaf(*shape, scale=1.0):
    return (scale * torch.randn(*shape)).requires_grad_()


def problems():
    d, width = 16, 48
    yield "rms_norm 16x64", rms_norm, (leaf(16, 64), leaf(64))
    yield "sinkhorn 4x4", sinkhorn, (leaf(4, 4),)
    shapes = [(d,), (d, d), (d, d), (d, d), (d, d), (d,), (d, width), (d, width), (width, d)]
    yield "pre block T=8 d=16", block, (leaf(8, d), *(leaf(*s, scale=0.3) for s in shapes))


def seconds(function, inputs):
    """The least of at least three runs and a second, as chalkgrad-bench-gradcheck takes it."""
    runs = []
    while len(runs) < 3 or sum(runs) < 1:
        start = time.process_time()
        assert torch.autograd.gradcheck(function, inputs)
        runs.append(time.process_time() - start)
    return min(runs)


def main():
    ours = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    print(f"{'':20} {'torch':>10} {'differences':>12} {'ratio':>8} {'all oracles':>12} {'ratio':>8}")
    for name, function, inputs in problems():
        torchs, mine = seconds(function, inputs), ours[name]
        print(f"{name:20} {torchs * 1e3:8.1f}ms {mine['differences'] * 1e3:10.2f}ms {torchs / mine['differences']:7.1f}x"
              f" {mine['all'] * 1e3:10.2f}ms {torchs / mine['all']:7.1f}x")


if __name__ == "__main__":
    main()
