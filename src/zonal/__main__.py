"""``python -m zonal`` is ``zonal``."""

from zonal.cli.main import main

main(prog_name="zonal")
