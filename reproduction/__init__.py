"""The paper's experiments, one module each, through the public API."""
