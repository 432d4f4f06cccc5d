"""An order on plates, as `zonal ask --plate` writes it."""

from __future__ import annotations

from collections.abc import Sequence

from zonal.cli import options
from zonal.engine.results import Trial
from zonal.io import plates
from zonal.io.spreadsheet import Row, SheetFile
from zonal.study.export import questions
from zonal.study.study import Study


class PlateOrder:
    """A sheet whose rows name their wells, and a new file beside it with a map of the plates."""

    def __init__(self, file: SheetFile, size: int, study: Study) -> None:
        path, ending = file.path, ".csv" if file.is_fasta else file.path.suffix
        self.file, self.size = SheetFile(path.with_name(f"{path.stem}-plate{ending}")), size
        plates.order(size, questions(study, ()))  # raises before anything is asked for

    def rows(self, study: Study, trials: Sequence[Trial]) -> list[Row]:
        """Write the map, and return the rows of the order."""
        names = [f"{trial.number}: {trial.region.name}" for trial in trials]
        self.file.write(plates.plate_map(self.size, names))
        options.echo_err(f"The wells are in {self.file.path}.")
        return plates.order(self.size, questions(study, trials))
