"""GPOO in one file: the paper's Algorithm 1 for readers, in plain numpy and without Zonal.

Slow and short: one axis, averages of S points per cell, every posterior from scratch. Run it to see the tree walk
to the maximum of a bumpy function.
"""

import numpy as np

K, S, N, NOISE, THETA, H_MAX = 2, 10, 60, 0.1, 0.1, 10
VARIANCE, LENGTHSCALE = 0.1, 0.05


def f(x):
    """Return the function to search, unknown to the algorithm."""
    return np.sin(13 * x) * np.sin(27 * x) / 2 + 0.5


def delta(h):
    """Bound how much f varies within a cell of depth h (Assumption 3)."""
    return 14 * 0.5**h


def beta(t):
    """Return the width of the confidence intervals in round t (Lemma 1)."""
    m = sum(K**h for h in range(H_MAX + 1))
    return 2 * np.log(m * np.pi**2 * t**2 / 6 / THETA)


def points(node):
    """Return the S representative points of a cell: centres of equal sub-cells."""
    h, i = node
    return (i + (np.arange(S) + 0.5) / S) / K**h


def covariance(a, b):
    """Return the prior covariance of the averages over two cells."""
    distance = points(a)[:, None] - points(b)[None, :]
    return np.mean(VARIANCE * np.exp(-(distance**2) / (2 * LENGTHSCALE**2)))


def posterior(nodes, visited, rewards):
    """Return mean and standard deviation of the averages over `nodes` (equation 4)."""
    prior = np.array([covariance(node, node) for node in nodes])
    if not visited:
        return np.zeros(len(nodes)), np.sqrt(prior)
    q = np.array([[covariance(a, b) for b in visited] for a in visited]) + NOISE**2 * np.eye(len(visited))
    cross = np.array([[covariance(a, b) for b in visited] for a in nodes])
    gain = np.linalg.solve(q, cross.T).T
    return gain @ np.array(rewards), np.sqrt(prior - np.sum(gain * cross, axis=1))


def gpoo(rng):
    """Run Algorithm 1 and return the recommended node."""
    leaves, expanded, visited, rewards = [(0, 0)], [], [], []
    for t in range(1, N + 1):
        mean, std = posterior(leaves, visited, rewards)
        b = mean + np.sqrt(beta(t)) * std + [delta(h) for h, _ in leaves]  # equation 5
        node = leaves[int(np.argmax(b))]  # line 2
        visited.append(node)
        rewards.append(f(points(node)).mean() + NOISE * rng.standard_normal())  # line 3
        _, (std_now,) = posterior([node], visited, rewards)  # lines 4 and 5
        h, i = node
        if delta(h) >= np.sqrt(beta(t)) * std_now and h <= H_MAX:  # line 6
            expanded.append(node)
            leaves.remove(node)
            leaves += [(h + 1, K * i + j) for j in range(K)]  # lines 7 and 8
    deepest = [node for node in expanded if node[0] == max(h for h, _ in expanded)]
    mean, _ = posterior(deepest, visited, rewards)
    return deepest[int(np.argmax(mean))]  # line 11


if __name__ == "__main__":
    h, i = gpoo(np.random.default_rng(0))
    x = np.linspace(0, 1, 10_001)
    print(f"recommended: {i / K**h:.4f} to {(i + 1) / K**h:.4f}, average {f(points((h, i))).mean():.3f}")
    print(f"in truth:    maximum {f(x).max():.3f} at {x[f(x).argmax()]:.4f}")
