"""``python -m zonal`` is ``zonal``."""

from zonal.cli import main

main(prog_name="zonal")
