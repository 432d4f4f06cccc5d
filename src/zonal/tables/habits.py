"""What things are called elsewhere, so that a near miss is answered with the name they have here."""

from __future__ import annotations

ELSEWHERE = {
    "best_params": "recommend().region",
    "best_value": "recommend().mean",
    "best_trial": "recommend()",
    "best_trials": "recommend(k=5), or top(5)",
    "trials_dataframe": "table().to_pandas()",
    "get_trials": "trials",
    "stop": "a callback that raises StopIteration",
    "enqueue_trial": "observe(region, value)",
    "add_trial": "observe(region, value)",
    "suggest": "ask()",
    "report": "tell(trial, value)",
    "provide_recommendation": "recommend()",
    "get_next_trial": "ask()",
    "complete_trial": "tell(trial, value)",
    "get_best_trial": "recommend()",
    "fit": "refit()",
    "posterior": "predict(regions)",
    "minimize": 'zn.minimize(...), or Study(..., direction="minimize")',
    "maximize": "optimize(measure)",
    "run": "optimize(measure)",
    "best": "recommend()",
    "best_region": "recommend().region",
}


def missing(kind: str, name: str) -> AttributeError:
    """Return the error for an attribute that is not there, with its name here if it has one elsewhere."""
    meant = f" Did you mean {ELSEWHERE[name]}?" if name in ELSEWHERE else ""
    return AttributeError(f"a {kind} has no attribute {name!r}.{meant}")
