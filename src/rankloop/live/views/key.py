"""One key: production's list beside today's, what is known of its items, and what that rests on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rankloop.live.explain import looks_at_items
from rankloop.live.learner import Learner
from rankloop.live.learner_kinds import FeatureLearner
from rankloop.live.live import Live
from rankloop.live.views.view_cache import known_key, looking_at


def key(live: Live, loop: str, name: str) -> dict[str, Any]:
    """What a loop knows for a key; ValueError if it has not been asked for it."""
    target = live._loops.named(loop)
    known = known_key(live, target, name)
    looking, settings = looking_at(live), target.settings
    looking.advance()
    with live._learners.hold(target, name) as learner:
        if learner.policy is None:
            raise live._nothing_to_say(loop, name)
        best, production, reverted = learner.best(), list(learner.names), learner.reverted
        receipt = learner.policy.receipt().named(learner.names) if settings.policy == "BubbleRank" else None
        items = attractions(learner)
        explained = _explained(learner, best) if isinstance(learner, FeatureLearner) else None
    begun = looking.following.store.entry(reverted) if reverted else None
    found: dict[str, Any] = {
        "loop": loop,
        "key": name,
        "kind": settings.kind,
        "policy": settings.policy,
        "production": production,
        "best": best,
        **looking.following.of_learner(known.number),
        "counted": looking.following.counted,
        "reverted": None if begun is None else begun.at / 1000,
        "items": [{"item": production[i], **each} for i, each in enumerate(items)],
    }
    if receipt is not None:
        found |= {"receipt": asdict(receipt), "receipt_text": str(receipt)}
    if explained is not None:
        found["explained"] = explained
    return found


def attractions(learner: Learner) -> list[dict[str, float | None]]:
    """The probability of a click on each item that is looked at, as far as a policy keeps such estimates."""
    known = [(float(clicks), float(looks)) for clicks, looks in looks_at_items(learner.policy)]  # none of NumPy's
    return [{"attraction": clicks / looks if looks > 0 else None, "looks": looks} for clicks, looks in known]


def _explained(learner: FeatureLearner, best: list[str]) -> dict[str, Any]:
    """What the model has learned, and the best list item by item."""
    policy, settings = learner.up_to_date(), learner.settings
    row = dict(zip(learner.names, learner.rows, strict=True))
    topics = learner.items.topics if settings.topics else None
    told = policy.explain([row[item] for item in best], topics=topics, topic_names=settings.topics or None)
    theta = zip(policy.theta.tolist(), policy.theta_error.tolist(), strict=True)
    beta = zip(policy.beta.tolist(), policy.beta_error.tolist(), strict=True)
    return {
        "topics": [
            {"topic": name, "weight": weight, "error": error}
            for name, (weight, error) in zip(settings.topics, theta, strict=False)
        ],
        "relevance": [{"feature": i, "weight": weight, "error": error} for i, (weight, error) in enumerate(beta)],
        "list": [
            {
                "item": item,
                "topics": list(each.topics),
                "attraction": each.attraction,
                "relevance": each.relevance,
                "novelty": each.novelty,
                "uncertainty": each.uncertainty,
            }
            for item, each in zip(best, told.items, strict=True)
        ],
        "covered": told.covered.tolist(),
    }
