"""A policy of the user's own that answers with something else than it was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zonal as zn

ANSWERS: dict[str, tuple[Any, ...]] = {
    "depth": ("3", None, -2, 2.5),
    "bind": ("bound", None),
    "choose": ("0", "here", None, [0], float("nan")),
    "expand_unmeasured": ("yes", None, 1),
    "should_expand": ("no", None, 0),
    "nodes_to_expand": ("all", None, 0, ["0"], [0.5], [[0]], [-1], [10**6]),
    "recommend": ("best", None, -1, 10**6),
    "confidence_bands": ("wide", None, ("a", "b"), (0.0, 0.0), (np.zeros(3),)),
    "fallback_expand": ("0", None, 10**6),
}


class Own:
    """A policy that answers one question wrongly, and else as usual."""

    def __init__(self, question: str, answer: Any) -> None:
        self._question, self._answer = question, answer
        self._usual: Any = zn.GPOO() if question == "fallback_expand" else zn.KnowledgeGradient()

    def __getattr__(self, name: str) -> Any:
        if name == self._question:
            return lambda *asked: self._answer
        found = getattr(self._usual, name)
        if name != "bind":
            return found
        return lambda context: BoundOwn(found(context), self._question, self._answer)


class BoundOwn:
    """The same, bound to a problem."""

    def __init__(self, usual: Any, question: str, answer: Any) -> None:
        self._usual, self._question, self._answer = usual, question, answer

    def __getattr__(self, name: str) -> Any:
        return (lambda *asked: self._answer) if name == self._question else getattr(self._usual, name)


@pytest.mark.parametrize(
    ("question", "answer"), [(name, own) for name, answers in ANSWERS.items() for own in answers]
)
def test_a_wrong_answer_of_a_policy_is_named(question: str, answer: Any) -> None:
    def live() -> None:
        policy: Any = Own(question, answer)
        # So that none may be measured at first.
        forbidden = {"x": (0.4, 0.6)} if question == "fallback_expand" else None
        study = zn.Study(
            [(0, 1)], budget=8, kernel=zn.RBF(1.0, 0.2), noise=0.1, policy=policy, forbidden=forbidden
        )
        for at in range(8):
            study.tell(study.ask(), float(at))
            study.recommend()
            study.confidence_bands()

    with pytest.raises(zn.InvalidInput, match=f"the policy's {question} .*; got "):
        live()
