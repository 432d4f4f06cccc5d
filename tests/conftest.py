"""What all tests share: how seldom Python looks for rubbish."""

import gc


def pytest_collection_finish() -> None:
    """Spare the collector all that tests and libraries hold to the end: looking at it took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
