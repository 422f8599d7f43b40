"""The feature policies in plain NumPy, as one would write them first: all items scored at once for each position."""

import numpy as np


class Naive:
    """Ridge regression on phi = [omega, z], the inverse kept by Sherman and Morrison's formula."""

    def __init__(self, relevance, topics, n_positions, gamma=1.0):
        self.relevance, self.topics, self.n_positions, self.gamma = relevance, topics, n_positions, gamma
        n = relevance.shape[1] + topics.shape[1]
        self.inverse, self.evidence = np.eye(n), np.zeros(n)

    def rank(self):
        weights = self.inverse @ self.evidence
        remaining = np.ones(self.topics.shape[1])
        taken = np.zeros(len(self.relevance), bool)
        ranking = []
        for _ in range(self.n_positions):
            phi = np.hstack([self.topics * remaining, self.relevance])
            uncertain = np.sqrt(np.einsum("ij,ij->i", phi @ self.inverse, phi))
            scores = phi @ weights + self.gamma * uncertain
            scores[taken] = -np.inf
            item = int(scores.argmax())
            ranking.append(item)
            taken[item] = True
            remaining *= 1 - np.maximum(self.topics[item], 0)
        return ranking

    def update(self, ranking, clicks):
        remaining = np.ones(self.topics.shape[1])
        for item, click in zip(ranking, clicks, strict=True):
            phi = np.concatenate([self.topics[item] * remaining, self.relevance[item]])
            along = self.inverse @ phi
            self.inverse -= np.outer(along, along) / (1 + phi @ along)
            self.evidence += click * phi
            remaining *= 1 - np.maximum(self.topics[item], 0)
            if click:
                break


def run(policy, environment, steps, seed=0):
    """Show lists to users who click the first item that attracts them, and add up the regret."""
    draw = np.random.default_rng(seed)
    regret = 0.0
    for _ in range(steps):
        ranking = policy.rank()
        attraction = environment.explain(ranking).attraction
        regret += environment.regret(ranking)
        attracted = draw.random(len(ranking)) < attraction
        policy.update(ranking, attracted & (np.cumsum(attracted) == 1))
    return regret
