"""How the manual is built: `make docs`. Every example is run; a warning is an error."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from pathlib import Path

# Examples are run without the builder's own IPython start-up files, and their kernels speak up only for errors.
_profile = Path(tempfile.mkdtemp()) / "profile_default"
_profile.mkdir()
(_profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 'ERROR'\n", encoding="utf-8")
os.environ["IPYTHONDIR"] = str(_profile.parent)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # pictures, whatever the shell says
warnings.filterwarnings("ignore", category=DeprecationWarning)  # of the builder's own libraries

HERE = Path(__file__).parent

project = "Zonal"
author = "The Zonal developers"
project_copyright = author
release = re.findall(
    r'^version = "(.*)"', (HERE.parent / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
)[0]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.autosummary"]
exclude_patterns = ["**/.ipynb_checkpoints"]
suppress_warnings = ["myst.header"]  # pages that were made by programs start where their report starts

myst_enable_extensions = ["deflist", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 240
nb_execution_in_temp = True  # what an example writes is not ours to keep
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name the types, in fewer words
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = "Zonal"
html_static_path = ["static"]
html_css_files = ["fitting.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}
