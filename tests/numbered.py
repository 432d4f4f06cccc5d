"""A covariance that numbers footprints itself, in order of entry, for tests that enter some at a time."""

from typing import Any

from numpy.typing import NDArray


class Numbered:
    """A covariance and how many footprints were entered into it."""

    def __init__(self, covariance: Any) -> None:
        self.covariance = covariance
        self.size = 0

    def enter(self, footprints: Any) -> NDArray[Any]:
        """Enter footprints, which get the next numbers; return their variances."""
        start, self.size = self.size, self.size + len(footprints)
        self.covariance.enter(start, footprints)
        variances: NDArray[Any] = self.covariance.variances(start, self.size)
        return variances

    def add(self, footprints: Any) -> NDArray[Any]:
        """Enter footprints; return their covariances with all entered."""
        start = self.size
        self.enter(footprints)
        block: NDArray[Any] = self.covariance.between(slice(start, self.size), slice(0, self.size))
        return block

    def row(self, one: int) -> NDArray[Any]:
        """Return the covariance of one footprint with all that are entered."""
        row: NDArray[Any] = self.covariance.row(one, self.size)
        return row

    def __getattr__(self, name: str) -> Any:
        """Return whatever else the covariance has."""
        return getattr(self.covariance, name)
